#include "runner/cli/exit_code.h"

#include <array>
#include <string_view>

namespace runner::cli {
namespace {

struct VerdictRow {
  std::string_view verdict;
  int code;
};

constexpr std::array kVerdicts{
    VerdictRow{"accepted", kExitOk},           VerdictRow{"rejected", kExitRejected},
    VerdictRow{"error", kExitError},           VerdictRow{"inconclusive", kExitInconclusive},
    VerdictRow{"cancelled", kExitInterrupted},
};

int code_of_verdict(const TaskEnd& end) {
  if (end.verdict == "ran") return end.failure_class.empty() ? kExitOk : kExitRejected;
  for (const VerdictRow& row : kVerdicts)
    if (row.verdict == end.verdict) return row.code;
  return kExitError;
}

}  // namespace

int exit_code_of(const TaskEnd& end) {
  if (end.state == "done") return code_of_verdict(end);
  if (end.state == "awaiting_approval")
    return end.verdict == "inconclusive" ? kExitInconclusive : kExitApproval;
  return kExitWaiting;
}

int exit_code_of_status(int status) {
  if ((status >= 200 && status < 300) || status == 304) return kExitOk;
  switch (status) {
    case 401:
    case 403:
      return kExitDenied;
    case 404:
      return kExitNotFound;
    case 409:
    case 412:
    case 422:
    case 428:
      return kExitConflict;
    case 429:
      return kExitError;
    default:
      return status >= 400 && status < 500 ? kExitUsage : kExitError;
  }
}

int exit_code_of(const os::Error& error) {
  switch (error.code) {
    case os::Code::invalid:
      return kExitUsage;
    case os::Code::not_found:
      return kExitNotFound;
    case os::Code::denied:
      return kExitDenied;
    case os::Code::conflict:
      return kExitConflict;
    case os::Code::cancelled:
      return kExitInterrupted;
    case os::Code::exhausted:
    case os::Code::unavailable:
    case os::Code::timeout:
    case os::Code::corrupt:
    case os::Code::internal:
      return kExitError;
  }
  return kExitError;
}

}  // namespace runner::cli
