// What the service answers to pages alone: sessions, and what a task was judged by.
#pragma once

#include <chrono>
#include <string>

#include "runner/service_values.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace runner {

// Typed into a browser once, within five minutes.
struct LoginCode {
  std::string code;  // "BCD-234-FGH"
  std::string expires_at;
};

// What a browser that typed a code is given as its cookie.
struct OpenedSession {
  std::string secret;  // 64 hex digits, shown once
  std::chrono::seconds lifetime{0};
};

// Who is behind a cookie.
struct WebSession {
  Actor actor;
  std::string csrf;  // what a form of this session sends back
  std::string expires_at;
};

// What a task was judged by: evidence with its reports, and the policy. Immutable.
struct JudgedTask {
  tasks::Evidence evidence;
  tasks::Policy policy;
};

}  // namespace runner
