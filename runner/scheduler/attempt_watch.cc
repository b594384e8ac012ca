#include "runner/scheduler/attempt_watch.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kWait{500};
constexpr milliseconds kPoll{50};

AttemptKey key_of(const AttemptStatusReport& report) {
  return {report.attempt.str(), report.fence};
}

}  // namespace

struct AttemptWatch::State {
  State(Executor& watched, std::function<void()> notify)
      : executor(watched),
        on_change(std::move(notify)),
        thread([this](const std::stop_token& stop) { follow(stop); }) {}

  void follow(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const os::Result<std::vector<AttemptStatusReport>> changes = executor.wait_changes(kWait);
      if (!changes) {
        // The executor is gone: try again without spinning.
        std::unique_lock lock(mutex);
        ended_changed.wait_for(lock, stop, kWait, [] { return false; });
        continue;
      }
      if (changes->empty()) continue;
      {
        const std::scoped_lock lock(mutex);
        for (const AttemptStatusReport& report : *changes) {
          if (report.state != AttemptState::running) ended[key_of(report)] = report;
        }
      }
      ended_changed.notify_all();
      on_change();
    }
  }

  Executor& executor;
  std::function<void()> on_change;
  std::mutex mutex;
  std::condition_variable_any ended_changed;
  std::map<AttemptKey, AttemptStatusReport> ended;
  std::jthread thread;  // last: joined before the rest goes
};

AttemptWatch::AttemptWatch(Executor& executor, std::function<void()> on_change)
    : state_(std::make_unique<State>(executor, std::move(on_change))) {}

AttemptWatch::~AttemptWatch() = default;

os::Result<std::map<AttemptKey, AttemptStatusReport>> AttemptWatch::list() {
  std::map<AttemptKey, AttemptStatusReport> reports;
  for (AttemptStatusReport& report : TRY(state_->executor.list())) {
    const AttemptKey key = key_of(report);
    reports.insert_or_assign(key, std::move(report));
  }
  return reports;
}

bool AttemptWatch::wait_end(const AttemptKey& key, milliseconds limit,
                            const std::function<bool()>& has_result) {
  const steady_clock::time_point deadline = steady_clock::now() + limit;
  while (true) {
    {
      std::unique_lock lock(state_->mutex);
      const bool is_over =
          state_->ended_changed.wait_for(lock, kPoll, [&] { return state_->ended.contains(key); });
      if (is_over) return true;
    }
    if (has_result()) return true;
    if (steady_clock::now() >= deadline) return false;
  }
}

void AttemptWatch::forget(const AttemptKey& key) {
  const std::scoped_lock lock(state_->mutex);
  state_->ended.erase(key);
}

}  // namespace runner
