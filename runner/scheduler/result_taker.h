// ResultTaker: turns an ended attempt into evidence, a verdict and the task's next state.
#pragma once

#include <string>

#include "runner/context.h"
#include "runner/store/records.h"

namespace runner {

// Called by the scheduler's thread only. Each of these commits one transaction with the end of the
// attempt, the move of the task and its event; a second call for the same attempt answers conflict.
class ResultTaker {
 public:
  // Outlives this object.
  explicit ResultTaker(const ServiceContext& context) : context_(context) {}

  // Takes result.json and all blobs over, judges, stores. `key` is the base key that was planned
  // with. not_found: there is no result.json.
  os::Result<void> take(const store::AttemptRow& attempt, const std::string& key);
  // The attempt ended without a result, or was lost: `detail` says how.
  enum class End : std::uint8_t { without_result, lost };
  os::Result<void> give_up(const store::AttemptRow& attempt, End end, const std::string& detail);

 private:
  struct Taken;
  os::Result<Taken> collect(const store::AttemptRow& attempt);
  os::Result<void> commit(const store::AttemptRow& attempt, const Taken& taken,
                          const std::string& key);
  os::Result<void> void_if_changed(store::Database& database, const store::TaskRow& task,
                                   const gates::Judgement& now);

  const ServiceContext& context_;
};

// The verdict on kept evidence: loads reports and policy, judges. What `rejudge` repeats.
struct JudgedEvidence {
  tasks::Evidence evidence;
  tasks::Policy policy;
  gates::Judgement judgement;
};
os::Result<JudgedEvidence> judge_kept(const EvidenceFolder& folder, tasks::Evidence evidence);

}  // namespace runner
