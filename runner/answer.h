// Passing errors up through functions that answer clients.
#pragma once

#include <utility>

#include "runner/service.h"

namespace runner {

inline const ServiceError& to_service_error(const ServiceError& error) { return error; }

// An error that names what is wrong and what to do next.
inline std::unexpected<ServiceError> refuse(std::string problem, std::string detail,
                                            std::string next_step = {}) {
  ServiceError error;
  error.problem = std::move(problem);
  error.detail = std::move(detail);
  error.next_step = std::move(next_step);
  return std::unexpected(std::move(error));
}

// The same, worth trying again later.
inline std::unexpected<ServiceError> refuse_for_now(std::string problem, std::string detail,
                                                    std::string next_step) {
  auto refusal = refuse(std::move(problem), std::move(detail), std::move(next_step));
  refusal.error().retryable = true;
  return refusal;
}

// A field that cannot be taken; `pointer` is its JSON pointer.
inline std::unexpected<ServiceError> refuse_field(std::string pointer, std::string detail) {
  auto refusal = refuse("invalid_field", std::move(detail), "correct the field and send it again");
  refusal.error().pointer = std::move(pointer);
  return refusal;
}

}  // namespace runner

// Yields the value of an Answer or a Result, or returns its error as a ServiceError.
#define ASK(expression) ASK_NAMED_(OS_TRY_JOIN_(ask_, __COUNTER__), expression)
#define ASK_NAMED_(name, expression) ASK_NAMED_NOW_(name, expression)
#define ASK_NAMED_NOW_(name, expression)                                                   \
  __extension__({                                                                          \
    auto&& name = (expression);                                                            \
    if (!name.has_value()) return std::unexpected(runner::to_service_error(name.error())); \
    *std::forward<decltype(name)>(name);                                                   \
  })
