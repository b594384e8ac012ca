#include "sandbox/os/hidden_paths.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"

namespace os {
namespace {

// Of newer kernels than the headers of Debian 12 (include/uapi/linux/landlock.h), ABI 3.
constexpr std::uint64_t kTruncate = 1ULL << 14U;
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
// Names made and taken away: a link to a hidden file would be an open one to the next process.
constexpr std::uint64_t kOfNames = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

long landlock_version() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0},
                   LANDLOCK_CREATE_RULESET_VERSION);
}

// True if `path` is `folder` or below it.
bool is_at_or_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// Links resolved as far as the path exists.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto canonical = std::filesystem::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

class Rules {
 public:
  static Result<Rules> make(std::vector<std::string> hidden) {
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = handled();
    Fd rules(static_cast<int>(
        ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
    if (!rules.is_open()) return fail_errno("make landlock rules");
    return Rules(std::move(rules), std::move(hidden));
  }

  // Everything in the directory but what is hidden.
  Result<void> allow_beside(const std::string& directory) {
    const Result<std::vector<std::string>> names = list_directory(directory);
    if (names) {
      for (const std::string& name : *names)
        TRY(allow(directory == "/" ? "/" + name : directory + "/" + name));
      return {};
    }
    if (names.error().code != Code::denied) return std::unexpected(names.error());
    return allow_ways_below(directory);
  }

  // A path with all below it, or what is not hidden of it.
  Result<void> allow(const std::string& path) {
    if (std::ranges::any_of(hidden_, [&](const auto& each) { return is_at_or_below(path, each); }))
      return {};
    if (std::ranges::any_of(hidden_, [&](const auto& each) { return is_at_or_below(each, path); }))
      return allow_beside(path);
    Result<Fd> place = open_file(path, O_PATH | O_NOFOLLOW);
    struct stat info{};
    // What a link points to has a path of its own; what is gone, or was never ours, is no loss.
    if (!place || ::fstat(place->get(), &info) != 0 || S_ISLNK(info.st_mode)) return {};
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(info.st_mode) ? handled() : handled() & kOfFiles;
    rule.parent_fd = place->get();
    if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
      return fail_errno("landlock rule for " + path);
    return {};
  }

  Result<void> apply() const {
    if (::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0)
      return fail_errno("restrict by landlock");
    return {};
  }

 private:
  static std::uint64_t handled() {
    const std::uint64_t all = kOfFiles | kOfNames;
    return landlock_version() >= 3 ? all : all & ~kTruncate;
  }

  Rules(Fd rules, std::vector<std::string> hidden)
      : rules_(std::move(rules)), hidden_(std::move(hidden)) {}

  // The next directories on the ways from here to what is hidden.
  Result<void> allow_ways_below(const std::string& directory) {
    for (const std::string& each : hidden_) {
      if (!is_at_or_below(each, directory)) continue;
      const std::size_t end = each.find('/', directory == "/" ? 1 : directory.size() + 1);
      if (end != std::string::npos) TRY(allow_beside(each.substr(0, end)));
    }
    return {};
  }

  Fd rules_;
  std::vector<std::string> hidden_;
};

}  // namespace

Result<bool> hide_paths(const std::vector<std::string>& hidden,
                        const std::vector<std::string>& needed) {
  if (hidden.empty() || landlock_version() < 2) return false;
  std::vector<std::string> places;
  for (const std::string& path : hidden) places.push_back(resolved(path));
  Rules rules = TRY(Rules::make(std::move(places)));
  TRY(rules.allow_beside("/"));
  for (const std::string& path : needed)
    if (!path.empty()) TRY(rules.allow(resolved(path)));
  TRY(rules.apply());
  return true;
}

}  // namespace os
