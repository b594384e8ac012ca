// Exit codes of the command line: one table for every end (DESIGN.md §1).
#pragma once

#include <string>

#include "sandbox/os/result.h"

namespace runner::cli {

inline constexpr int kExitOk = 0;             // accepted, or done what was asked
inline constexpr int kExitRejected = 1;       // rejected, or a step of intent run failed
inline constexpr int kExitUsage = 2;          // the command line or its input is wrong
inline constexpr int kExitError = 3;          // verdict error; server unreachable: try again
inline constexpr int kExitDenied = 4;         // no valid token, or no right
inline constexpr int kExitNotFound = 5;       // no such task, project …
inline constexpr int kExitWaiting = 6;        // a wait ended before the task did
inline constexpr int kExitConflict = 7;       // refused: conflict or policy
inline constexpr int kExitApproval = 8;       // accepted, awaiting approval
inline constexpr int kExitInconclusive = 9;   // measured, and cannot be told
inline constexpr int kExitInterrupted = 130;  // cancelled, or Ctrl-C

// What the exit code of a task depends on, in the words of the API; empty: none.
struct TaskEnd {
  std::string state;          // queued | running | awaiting_approval | promoting | done
  std::string verdict;        // accepted | rejected | inconclusive | error | ran | cancelled
  std::string failure_class;  // build | test | …
};

// The code a waiting command ends with.
int exit_code_of(const TaskEnd& end);

// The code for an HTTP status; 0: unreachable. 2xx and 304 are kExitOk.
int exit_code_of_status(int status);

// The code for an error of our own side: a file, an argument, a sandbox.
int exit_code_of(const os::Error& error);

}  // namespace runner::cli
