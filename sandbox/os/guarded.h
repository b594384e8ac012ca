// Guarded<T>: data that can be reached only with its lock held.
#pragma once

#include <mutex>
#include <utility>

namespace os {

// Owns a T and the mutex for it. `with` runs a function on the data under the lock; the function
// must not call out to code that takes another lock (locks are leaves).
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  template <class Function>
  decltype(auto) with(Function&& function) {
    const std::scoped_lock lock(mutex_);
    return std::forward<Function>(function)(value_);
  }

  template <class Function>
  decltype(auto) with(Function&& function) const {
    const std::scoped_lock lock(mutex_);
    return std::forward<Function>(function)(std::as_const(value_));
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace os
