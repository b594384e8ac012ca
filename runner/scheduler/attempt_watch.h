// AttemptWatch: the one reader of what the executor tells about attempts.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runner/executor/executor.h"

namespace runner {

// (attempt, fence)
using AttemptKey = std::pair<std::string, std::int64_t>;

// Follows Executor::wait_changes on a thread of its own and keeps the last word about each attempt
// until it is forgotten. Safe from any thread.
class AttemptWatch {
 public:
  // `on_change` is called on the watch's thread after something changed. The executor outlives
  // this.
  AttemptWatch(Executor& executor, std::function<void()> on_change);
  ~AttemptWatch();
  AttemptWatch(const AttemptWatch&) = delete;
  AttemptWatch& operator=(const AttemptWatch&) = delete;

  // Asks the executor for all that it knows. unavailable: it does not answer.
  os::Result<std::map<AttemptKey, AttemptStatusReport>> list();
  // True once the attempt ended or was lost, or `has_result` says so (asked every 50 ms, because a
  // change may be lost with an executor that dies); false when `limit` passed first.
  bool wait_end(const AttemptKey& key, std::chrono::milliseconds limit,
                const std::function<bool()>& has_result);
  void forget(const AttemptKey& key);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runner
