// Logs of runs: what a step printed, while it runs and afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "runner/context.h"
#include "runner/service.h"
#include "runner/store/records.h"
#include "tasks/evidence.h"

namespace runner {

// The longest piece of a log that is answered at once.
inline constexpr std::int64_t kLongestLog = 4LL << 20U;

// What is asked for, in bytes of the whole output.
struct LogWindow {
  std::int64_t offset = 0;
  std::int64_t limit = kLongestLog;
};

// The run that `step` stands for: a run's id, or the step's plain run on the change's side (else
// the mixed tree's, the judge's, the base's, or the first of a pair). nullptr: it did not run.
const tasks::RunRecord* run_to_show(const tasks::Evidence& evidence, const std::string& step);

// From kept evidence. An offset in what was left out gives the tail.
os::Result<LogChunk> read_kept_log(const EvidenceFolder& folder, const tasks::RunRecord& run,
                                   LogWindow window);

// From the directory of an attempt that runs: the newest run of the step on the change's side.
// Nothing yet: an empty chunk.
os::Result<LogChunk> read_living_log(const ServiceContext& context,
                                     const store::AttemptRow& attempt, const std::string& step,
                                     LogWindow window);

}  // namespace runner
