#include "sandbox/os/result.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace os {
namespace {

Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH:
    case ENODEV:
    case ENXIO:
      return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    case EEXIST:
    case EBUSY:
    case ENOTEMPTY:
      return Code::conflict;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return Code::exhausted;
    case EAGAIN:
    case EINTR:
    case ECONNREFUSED:
      return Code::unavailable;
    case ETIMEDOUT:
      return Code::timeout;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case EXDEV:
      return Code::invalid;
    default:
      return Code::internal;
  }
}

}  // namespace

std::string_view code_name(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::conflict:
      return "conflict";
    case Code::denied:
      return "denied";
    case Code::exhausted:
      return "exhausted";
    case Code::unavailable:
      return "unavailable";
    case Code::timeout:
      return "timeout";
    case Code::cancelled:
      return "cancelled";
    case Code::corrupt:
      return "corrupt";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

std::unexpected<Error> fail_errno(int error_number, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += ::strerrordesc_np(error_number) != nullptr ? ::strerrordesc_np(error_number)
                                                        : "unknown error";
  return std::unexpected(Error{code_of(error_number), std::move(message), error_number});
}

std::unexpected<Error> fail_errno(std::string_view what) { return fail_errno(errno, what); }

Error with_context(Error error, std::string_view what) {
  error.message = std::string(what) + ": " + error.message;
  return error;
}

void check(bool condition, std::string_view why) {
  if (condition) return;
  constexpr std::string_view kPrefix = "proofhouse: broken invariant: ";
  // A failed write changes nothing: the program ends here either way.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kPrefix.data(), kPrefix.size());
  written = ::write(STDERR_FILENO, why.data(), why.size());
  written = ::write(STDERR_FILENO, "\n", 1);
  std::abort();
}

}  // namespace os
