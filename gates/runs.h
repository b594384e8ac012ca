// Runs: which runs a gate needs, in which order, and whether a run did what others need of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gates/gate.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

// What gates judge. Both references are borrowed for the call.
struct Context {
  const tasks::Policy& policy;
  const tasks::Evidence& evidence;

  // True if the change touches guarded files, so that a mixed tree exists.
  bool is_escalated() const { return evidence.change.mixed_tree.has_value(); }
};

// How far a gate has come.
struct Progress {
  Next next = NextNothing{};  // a run without which nothing more can be said
  GateResult result;          // if `next` is NextNothing
  bool is_final = false;      // the base or the machine is at fault: nothing more is worth running
  // The run by which the mixed tree does not build while the change's own does; borrowed.
  const tasks::RunRecord* broken_mixed = nullptr;
};

// The run of `step` for the code of `subject`: by itself, or by the judge for a `from: base` step.
tasks::RunKey key_for(const tasks::Policy& policy, const tasks::StepName& step,
                      tasks::Side subject);

// The runs that `key` needs directly: of its own side, or the judge's for the same `of`. A relinked
// run needs relinked ones of its side; any other needs plain ones. A step that interacts is no run
// of its own: what it needs, the run that it is joined with needs.
std::vector<tasks::RunKey> needs_of(const tasks::Policy& policy, const tasks::RunKey& key);

// True for a `from: base` step, and for all that need one, however far: after the seed is drawn.
bool is_late(const tasks::Policy& policy, const tasks::StepName& step);

// True if the step is of the change or needs a step of the change, however far.
bool is_subject_dependent(const tasks::Policy& policy, const tasks::StepName& step);

// `targets` and all that they need, each once, prerequisites first: early before late steps, then
// by side: base, change, mixed. What a recorded run needed is left out.
std::vector<tasks::RunKey> ordered_runs(const Context& context,
                                        const std::vector<tasks::RunKey>& targets);

enum class Fault : std::uint8_t {
  none,
  exit,     // exited with another code than 0
  crash,    // ended by a signal
  limit,    // timed out or killed
  output,   // a declared output is missing
  machine,  // cancelled, or the command never ran
};

// Whether a run did what steps that need it rely on: exit 0 and every declared output.
Fault fault_of(const tasks::Step& step, const tasks::RunRecord& record);

// "build exited with 1", "work left no output `out`: missing", "… with the base's guarded files".
std::string describe_fault(const tasks::Step& step, const tasks::RunRecord& record);

// " with the base's guarded files", " on the base", empty for the change.
std::string side_suffix(tasks::Side of);

// What a run that failed as a prerequisite means for the gate that needs it: the base's fault, the
// machine's, or the change's (build: early steps; test: late ones; limit; report: no output).
FailureClass prerequisite_failure(const Context& context, const tasks::RunRecord& record);

// Starts what is missing of `runs` (an order of ordered_runs) and stops at the first prerequisite
// that failed. `targets` are runs that the caller judges itself: their faults are left to it.
struct Preparation {
  std::optional<tasks::RunKey> next;         // run this first
  const tasks::RunRecord* failed = nullptr;  // a prerequisite that did not succeed
};
Preparation prepare(const Context& context, const std::vector<tasks::RunKey>& runs,
                    const std::vector<tasks::RunKey>& targets);

// Of a failed prerequisite on the mixed tree: does the change's own tree get over it? Then the
// mixed tree is broken, and that is no rejection.
struct MixedQuestion {
  std::optional<tasks::RunKey> next;  // run this to know
  bool is_mixed_broken = false;
  const tasks::RunRecord* failed = nullptr;  // the change's own prerequisite that failed too
};
MixedQuestion ask_mixed(const Context& context, const tasks::RunRecord& failed);

// The result of a gate whose prerequisite failed.
Progress failed_prerequisite(const Context& context, const tasks::Gate& gate,
                             const tasks::RunRecord& record);

// Keeps the first kMaxReasons and says how many were left out.
inline constexpr std::size_t kMaxReasons = 100;
void bound_reasons(std::vector<Reason>& reasons);

}  // namespace gates
