// One attempt of a task: claims its directory, executes what the planner asks for, writes
// result.json.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "sandbox/jail_client.h"
#include "tasks/evidence.h"
#include "tasks/plan.h"
#include "tasks/policy.h"

namespace tasks {

// What to do next; the gates decide it (see gates/gate.h), this layer only obeys.
struct RunOnce {
  RunKey key;
};
struct RunPair {
  StepName step;
  Side other = Side::change;
  int pair = 0;
  Variant variant = Variant::plain;
  std::vector<std::string> only;        // benchmarks that still matter; empty: all
  GateClock clock = GateClock::report;  // else: as measured_pair.h says
};
// Compare what two runs of this attempt left.
struct RunComparison {
  ComparisonKey key;
};
struct RunNothing {};
using Instruction = std::variant<RunOnce, RunPair, RunComparison, RunNothing>;
using Planner = std::function<Instruction(const Policy&, const Evidence&)>;

// What an attempt is given by its executor; descriptors are borrowed.
struct AttemptContext {
  int attempt_directory = -1;  // attempts/<id>/<fence>, ours to write
  int cancel_fd = -1;          // readable: stop
  int executor_fd = -1;        // where GPUs are leased (sandbox/gpu/desk.h); taken; -1: nowhere
  std::string version;         // of this program
  Planner planner;
};

enum class AttemptEnd : std::uint8_t {
  finished,  // result.json is there (whatever it says)
  claimed    // another execution owns this directory: nothing was done
};

// Runs the attempt to its end. An Error means that not even a result could be written.
os::Result<AttemptEnd> run_attempt(const AttemptContext& context, sandbox::JailClient& jail);

// The lock of a living attempt: `lock` in its directory, held by flock, "<pid> <start time>\n".
os::Result<os::Fd> lock_attempt(int attempt_directory);

}  // namespace tasks
