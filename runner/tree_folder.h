// Checkouts that attempts see read-only: trees/<tree id>, written by the jails of ingests.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/ids.h"

namespace runner {

// The trees below one directory. When a tree was last used is its directory's change time, because
// its other times are part of what an attempt sees. Safe to use from several threads.
class TreeFolder {
 public:
  explicit TreeFolder(std::string path) : path_(std::move(path)) {}

  // At most kMostListed; none when the directory cannot be read.
  std::vector<tasks::TreeId> list() const;
  // Notes that these are used now. not_found: one is missing (those before it are noted).
  os::Result<void> use(const std::set<tasks::TreeId>& trees);
  // Removes all that nobody used for `age` and that are not in `needed`, and what an interrupted
  // removal left; begins none after `budget`: the next call goes on. A tree that use() found is not
  // removed, whatever happens at the same time. An Error is the first; the rest is tried all the
  // same.
  os::Result<void> remove_unused(std::chrono::milliseconds age, const std::set<std::string>& needed,
                                 std::chrono::milliseconds budget);

  static constexpr std::size_t kMostListed = 2000;

 private:
  // Takes a tree's name away, so that none finds it any more; true if it was unused.
  os::Result<bool> withdraw(const std::string& name, std::chrono::milliseconds age);

  std::string path_;
  std::mutex mutex_;  // between the look at a tree's age and its withdrawal nobody may use it
};

}  // namespace runner
