// Trees read strictly: raw modes, names, counts, depth and bytes are checked before anything is
// made of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/git.h"

namespace tasks::git {

// The only raw modes that are taken. libgit2's own accessor shows 104755 (setuid) as 100755, so
// modes are read from the raw bytes here.
enum class EntryMode : std::uint32_t {
  directory = 040000,
  file = 0100644,
  executable = 0100755,
  symlink = 0120000
};

struct TreeEntry {
  EntryMode mode = EntryMode::file;
  std::string name;
  std::string id;  // 40 hexadecimal digits
  bool operator==(const TreeEntry&) const = default;
};

// What one tree may hold with all below it.
struct TreeLimits {
  std::uint64_t entries = 100'000;    // files, links and directories
  std::uint64_t bytes = 1ULL << 30U;  // of all files
  std::uint64_t blob = kMaxObject;    // of one file
  std::uint32_t depth = 64;           // directories within each other
  std::uint32_t path = 3'000;         // bytes of a path
};

// Why a name must not stand in a tree (".git" in any spelling that some file system takes for it,
// ".", "..", empty, with '/' or NUL, over 255 bytes); empty: it may.
std::string name_problem(std::string_view name);

// The same for each part of a path.
std::string path_problem(std::string_view path);

// Reads the bytes of a tree object; `path` is where it stands, for the refusal: invalid_mode,
// invalid_path (bad, repeated or unsorted names), corrupt_object.
os::Result<std::vector<TreeEntry>> parse_tree(std::string_view raw, const std::string& path,
                                              Refuser& refuser);

// Checks whole trees. Each distinct tree object is read once, so a tree whose objects repeat a
// million files is refused by its count after a few reads.
class TreeChecker {
 public:
  // The references outlive the checker.
  TreeChecker(const Repository& repository, Refuser& refuser, TreeLimits limits = {})
      : repository_(repository), refuser_(refuser), limits_(limits) {}

  // Refuses what the header names, too_large, and objects that are missing (missing_object).
  os::Result<void> check(const TreeId& tree);

 private:
  struct Totals {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t depth = 0;  // levels below
    std::uint64_t path = 0;   // bytes of the longest path below
  };
  os::Result<Totals> walk(const std::string& id, const std::string& path, std::uint32_t level);
  os::Result<Totals> walk_entry(const TreeEntry& entry, const std::string& path,
                                std::uint32_t level);
  os::Result<std::uint64_t> blob_size(const std::string& id, const std::string& path);
  os::Result<void> check_totals(const Totals& totals, const std::string& path);

  const Repository& repository_;
  Refuser& refuser_;
  TreeLimits limits_;
  std::map<std::string, Totals> trees_;
  std::map<std::string, std::uint64_t> blobs_;
};

}  // namespace tasks::git
