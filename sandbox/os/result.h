// Result, Error and TRY: how every fallible call of Proofhouse reports.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace os {

// What the caller can do about an error; not where it came from.
enum class Code : std::uint8_t {
  invalid,      // the input is wrong: say where, do not retry
  not_found,    // the named thing does not exist
  conflict,     // the state does not allow it (already exists, moved, wrong state)
  denied,       // not permitted
  exhausted,    // a bound was reached (memory, disk, queue, descriptors)
  unavailable,  // not now: retry later
  timeout,      // a deadline passed
  cancelled,    // somebody asked for it to stop
  corrupt,      // stored or received bytes are not what they must be
  internal,     // a fault of ours
};

// The word of a code in messages and JSON, for example "not_found".
std::string_view code_name(Code code);

// One failure. `message` names the thing and the next step; `sys_errno` is 0 or the errno behind
// it.
struct Error {
  Code code = Code::internal;
  std::string message;
  int sys_errno = 0;

  bool operator==(const Error&) const = default;
};

// A value or the Error why there is none. Never ignore one: the type is nodiscard.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

// An error without errno.
inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message), 0});
}

// An error made from an errno value; the code is derived from it (ENOENT: not_found, EACCES and
// EPERM: denied, EEXIST: conflict, ENOSPC, EMFILE, ENOMEM …: exhausted, EAGAIN: unavailable,
// ETIMEDOUT: timeout, EINVAL: invalid, else internal). The message becomes "<what>: <strerror>".
std::unexpected<Error> fail_errno(int error_number, std::string_view what);

// The same with the calling thread's errno.
std::unexpected<Error> fail_errno(std::string_view what);

// Puts "<what>: " before the message of an error, keeping code and errno.
Error with_context(Error error, std::string_view what);

// Ends the program with a message when an invariant of ours does not hold. Never for input.
void check(bool condition, std::string_view why);

// Used by TRY: applies `shape` to the error and wraps it for returning.
template <class Shape>
std::unexpected<Error> try_failure(Error error, Shape&& shape) {
  return std::unexpected<Error>(std::forward<Shape>(shape)(std::move(error)));
}

}  // namespace os

// Yields the value of a Result, or returns its error from the enclosing function. Nests: each use
// has a variable of its own.
#define TRY(expression) OS_TRY_(__COUNTER__, expression, try_error_)

// The same with context put before the message, for the layer that knows the noun.
#define TRY_CONTEXT(expression, what) \
  OS_TRY_(__COUNTER__, expression, os::with_context(try_error_, (what)))

#define OS_TRY_(counter, expression, error) \
  OS_TRY_NAMED_(OS_TRY_JOIN_(try_, counter), expression, error)
#define OS_TRY_JOIN_(left, right) OS_TRY_JOIN_NOW_(left, right)
#define OS_TRY_JOIN_NOW_(left, right) left##right##_
#define OS_TRY_NAMED_(name, expression, error_expression)                             \
  __extension__({                                                                     \
    auto&& name = (expression);                                                       \
    if (!name.has_value())                                                            \
      return os::try_failure(std::move(name).error(),                                 \
                             [&](os::Error try_error_) { return error_expression; }); \
    *std::forward<decltype(name)>(name);                                              \
  })
