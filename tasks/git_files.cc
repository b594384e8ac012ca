#include "tasks/git_files.h"

#include <git2.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tasks/git_diff.h"
#include "tasks/git_handle.h"
#include "tasks/git_history.h"
#include "tasks/git_tree.h"

namespace tasks::git {
namespace {

constexpr std::size_t kPatchLimit = 16U << 20U;

class Lister {
 public:
  Lister(const Repository& repository, std::size_t limit)
      : repository_(repository), limit_(limit) {}

  os::Result<void> walk(const std::string& tree, const std::string& path) {
    const Object object = TRY(repository_.read(tree));
    for (const TreeEntry& entry : TRY(parse_tree(object.bytes, path, refuser_))) {
      const std::string below = path.empty() ? entry.name : path + "/" + entry.name;
      if (entry.mode == EntryMode::directory) TRY(walk(entry.id, below));
      if (entry.mode != EntryMode::file && entry.mode != EntryMode::executable) continue;
      if (files_.size() == limit_)
        return os::fail(os::Code::exhausted, "over " + std::to_string(limit_) + " files");
      files_.push_back({below, entry.id, static_cast<std::uint32_t>(entry.mode)});
    }
    return {};
  }

  std::vector<TreeFile> take() { return std::move(files_); }

 private:
  const Repository& repository_;
  std::size_t limit_;
  Refuser refuser_;
  std::vector<TreeFile> files_;
};

os::Result<std::string> write_blob(const Repository& repository, const std::string& bytes) {
  git_oid id{};
  const int code =
      git_odb_write(&id, repository.objects(), bytes.data(), bytes.size(), GIT_OBJECT_BLOB);
  if (code < 0) return fail_git(code, "write a file");
  return to_text(id);
}

}  // namespace

os::Result<std::vector<TreeFile>> list_files(const Repository& repository, const TreeId& tree,
                                             std::size_t limit) {
  Lister lister(repository, limit);
  TRY(lister.walk(tree.hex(), ""));
  return lister.take();
}

os::Result<std::string> patch_of_edits(const Repository& repository, const CommitId& base,
                                       const FileEdits& edits) {
  const TreeId tree = TRY(repository.commit(base)).tree;
  std::vector<PathChange> changes;
  for (const auto& [path, text] : edits) {
    PathChange change{.path = path, .id = {}, .mode = 0};
    if (text) {
      const os::Result<Repository::File> before = repository.find_file(tree, path);
      change.mode = before ? before->mode : static_cast<std::uint32_t>(EntryMode::file);
      change.id = TRY(write_blob(repository, *text));
    }
    changes.push_back(std::move(change));
  }
  Refuser refuser;
  const CommitSpec edited{.parent = base,
                          .tree = TRY(change_tree(repository, tree, changes, refuser)),
                          .principal = "edits",
                          .title = "Edit",
                          .task = "edits",
                          .time = 0};
  return make_patch(repository, base, TRY(make_commit(repository, edited)), kPatchLimit);
}

}  // namespace tasks::git
