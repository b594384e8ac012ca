// Writer: the one thread that changes the database. What waits is committed together: one flush of
// the disk for all (group commit).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runner/store/sqlite.h"

namespace runner::store {

// What a caller wants changed, run on the writer's thread inside the transaction. An error undoes
// this job alone. It must not wait for anything.
using Job = std::move_only_function<os::Result<void>(Database&)>;

class Writer {
 public:
  // `on_commit` is called on the writer's thread after each commit.
  Writer(Database database, std::function<void()> on_commit);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Returns after the job's changes are durable, or with the error why there are none.
  // exhausted: kMaxQueued jobs wait already. unavailable: the writer is stopping.
  os::Result<void> write(Job job);

  static constexpr std::size_t kMaxQueued = 10'000;
  // Jobs of one commit: bounds how long the first of them waits for the last.
  static constexpr std::size_t kMaxBatch = 256;

 private:
  struct Queue;
  std::unique_ptr<Queue> queue_;
};

}  // namespace runner::store
