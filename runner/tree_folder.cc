#include "runner/tree_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "sandbox/os/files.h"

namespace runner {
namespace {

// Before the names of trees that are being removed; no tree's id looks like it.
constexpr std::string_view kWithdrawn = "gone.";

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::vector<tasks::TreeId> TreeFolder::list() const {
  std::vector<tasks::TreeId> trees;
  const os::Result<std::vector<std::string>> names = os::list_directory(path_);
  if (!names) return trees;
  for (const std::string& name : *names) {
    const os::Result<tasks::TreeId> tree = tasks::TreeId::parse(name);
    if (tree && trees.size() < kMostListed) trees.push_back(*tree);
  }
  return trees;
}

os::Result<void> TreeFolder::use(const std::set<tasks::TreeId>& trees) {
  const std::scoped_lock lock(mutex_);
  for (const tasks::TreeId& tree : trees) {
    const std::string path = path_ + "/" + tree.hex();
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return os::fail_errno("use tree " + tree.hex());
    // Setting a time to what it is makes the change time now.
    const timespec same[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, info.st_mtim};
    if (::utimensat(AT_FDCWD, path.c_str(), same, AT_SYMLINK_NOFOLLOW) != 0)
      return os::fail_errno("use tree " + tree.hex());
  }
  return {};
}

os::Result<bool> TreeFolder::withdraw(const std::string& name, std::chrono::milliseconds age) {
  const std::string path = path_ + "/" + name;
  const std::scoped_lock lock(mutex_);
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return os::fail_errno("stat tree " + name);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (nanoseconds(now) - nanoseconds(info.st_ctim) < std::chrono::nanoseconds(age).count())
    return false;
  const std::string withdrawn = path_ + "/" + std::string(kWithdrawn) + name;
  if (::rename(path.c_str(), withdrawn.c_str()) != 0)
    return os::fail_errno("withdraw tree " + name);
  return true;
}

os::Result<void> TreeFolder::remove_unused(std::chrono::milliseconds age,
                                           const std::set<std::string>& needed,
                                           std::chrono::milliseconds budget) {
  const auto deadline = std::chrono::steady_clock::now() + budget;
  os::Result<void> first;
  const auto note = [&](const auto& done) {
    if (!done && first) first = std::unexpected(done.error());
  };
  for (const std::string& name : TRY(os::list_directory(path_))) {
    if (std::chrono::steady_clock::now() >= deadline) break;
    if (name.starts_with(kWithdrawn)) {
      note(os::remove_tree(path_ + "/" + name));
      continue;
    }
    if (!tasks::TreeId::parse(name) || needed.contains(name)) continue;
    const os::Result<bool> withdrawn = withdraw(name, age);
    note(withdrawn);
    if (withdrawn && *withdrawn)
      note(os::remove_tree(path_ + "/" + std::string(kWithdrawn) + name));
  }
  return first;
}

}  // namespace runner
