#include "runner/cli/check_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/cli/terminal.h"
#include "runner/limits.h"
#include "sandbox/os/files.h"

namespace runner::cli {
namespace {

os::Result<std::string> cache_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/proofhouse/check";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/proofhouse/check";
  return os::fail(os::Code::invalid, "set XDG_CACHE_HOME or HOME: check keeps its data there");
}

// What runs as root below a directory that another user can change would be that user's.
os::Result<void> check_owner(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return os::fail_errno("stat " + path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022U) != 0)
    return os::fail(os::Code::denied,
                    path + " is not ours alone to write; set XDG_CACHE_HOME to a directory of " +
                        (::geteuid() == 0 ? "root" : "yours"));
  return {};
}

os::Result<void> write_plain(const std::string& path, std::string_view bytes) {
  const os::Fd file = TRY(os::open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  return os::write_all(file.get(), bytes);
}

struct Aged {
  std::string name;
  timespec used{};
};

// Entries of a directory, the latest changed first.
os::Result<std::vector<Aged>> by_age(const std::string& path) {
  std::vector<Aged> entries;
  for (std::string& name : TRY(os::list_directory(path))) {
    struct stat info{};
    if (::lstat((path + "/" + name).c_str(), &info) == 0)
      entries.push_back({std::move(name), info.st_ctim});
  }
  std::ranges::sort(entries, [](const Aged& left, const Aged& right) {
    return std::pair(left.used.tv_sec, left.used.tv_nsec) >
           std::pair(right.used.tv_sec, right.used.tv_nsec);
  });
  return entries;
}

}  // namespace

os::Result<CheckCache> CheckCache::open() {
  const std::string path = TRY(cache_directory());
  TRY(os::make_directories(path, 0711));
  TRY(check_owner(path));
  for (const auto& [name, mode] :
       {std::pair{"attempts", mode_t{0711}}, std::pair{"trees", mode_t{0700}},
        std::pair{"layers", mode_t{0700}}, std::pair{"bases", mode_t{0700}}})
    TRY(os::make_directories(path + "/" + name, mode));
  os::Fd lock = TRY(os::open_file(path + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    say("another check is running; waiting for it to end");
    while (::flock(lock.get(), LOCK_EX) != 0)
      if (errno != EINTR) return os::fail_errno("lock " + path);
  }
  return CheckCache(path, std::move(lock));
}

bool CheckCache::has_base(const std::string& key) const {
  return ::access((path_ + "/layers/" + key).c_str(), F_OK) == 0 &&
         ::access((base_path(key) + "/base.json").c_str(), F_OK) == 0;
}

os::Result<void> CheckCache::forget_base(const std::string& key) const {
  TRY(os::remove_tree(base_path(key)));
  return os::remove_tree(path_ + "/layers/" + key);
}

os::Result<void> CheckCache::stage_base(const std::string& key, const std::string& attempt) const {
  const std::string from = base_path(key);
  for (const std::string& name : TRY(os::list_directory(from))) {
    const std::string bytes = TRY(os::read_file(from + "/" + name, kAttemptResultLimit));
    TRY(write_plain(attempt + (name == "base.json" ? "/" : "/evidence/") + name, bytes));
  }
  // Its time of use.
  ::utimensat(AT_FDCWD, from.c_str(), nullptr, 0);
  return {};
}

os::Result<void> CheckCache::keep_base(const std::string& key, const tasks::Evidence& base,
                                       int attempt_directory) const {
  const std::string target = base_path(key);
  if (::access(target.c_str(), F_OK) == 0) return {};
  if (::access((path_ + "/layers/" + key).c_str(), F_OK) != 0) return {};
  const std::string unfinished = target + ".new";
  TRY(os::remove_tree(unfinished));
  TRY(os::make_directories(unfinished, 0700));
  for (const tasks::RunRecord& run : base.runs)
    for (const tasks::ReportRecord& report : run.reports)
      if (!report.parsed_sha256.empty())
        TRY(write_plain(unfinished + "/" + report.parsed_sha256,
                        TRY(os::read_file_at(attempt_directory, "evidence/" + report.parsed_sha256,
                                             kReportJsonLimit))));
  TRY(os::write_file_durably(unfinished + "/base.json", tasks::evidence_to_json(base), 0600));
  if (::rename(unfinished.c_str(), target.c_str()) != 0) return os::fail_errno("keep " + target);
  return {};
}

os::Result<void> CheckCache::trim() const {
  const std::vector<Aged> bases = TRY(by_age(path_ + "/bases"));
  for (std::size_t i = kBases; i < bases.size(); ++i)
    TRY(os::remove_tree(path_ + "/bases/" + bases[i].name));
  for (const std::string& layer : TRY(os::list_directory(path_ + "/layers")))
    if (::access(base_path(layer).c_str(), F_OK) != 0)
      TRY(os::remove_tree(path_ + "/layers/" + layer));
  const std::vector<Aged> trees = TRY(by_age(path_ + "/trees"));
  for (std::size_t i = kTrees; i < trees.size(); ++i)
    TRY(os::remove_tree(path_ + "/trees/" + trees[i].name));
  return {};
}

}  // namespace runner::cli
