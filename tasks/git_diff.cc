#include "tasks/git_diff.h"

#include <git2.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "sandbox/os/digest.h"
#include "tasks/git_diff_view.h"
#include "tasks/git_handle.h"

namespace tasks::git {
namespace {

constexpr git_off_t kMaxTextFile = 16LL << 20LL;  // larger files are shown as binary

struct DiffRequest {
  TreeId from;
  TreeId to;
  std::uint32_t flags = 0;
};

os::Result<DiffHandle> diff_trees(const Repository& repository, const DiffRequest& request) {
  const TreeHandle from = TRY(look_up(repository, request.from));
  const TreeHandle to = TRY(look_up(repository, request.to));
  git_diff_options options{};
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags = GIT_DIFF_IGNORE_SUBMODULES | request.flags;
  options.context_lines = 3;
  options.id_abbrev = GIT_OID_HEXSZ;
  options.max_size = kMaxTextFile;
  return make<DiffHandle>("diff", [&](git_diff** out) {
    return git_diff_tree_to_tree(out, repository.handle(), from.get(), to.get(), &options);
  });
}

char status_letter(git_delta_t status) {
  switch (status) {
    case GIT_DELTA_ADDED:
    case GIT_DELTA_COPIED:
      return 'A';
    case GIT_DELTA_DELETED:
      return 'D';
    case GIT_DELTA_RENAMED:
      return 'R';
    default:
      return 'M';
  }
}

// Hashes fields so that no two lists of fields give the same bytes.
class FieldDigest {
 public:
  void add(std::string_view field) {
    stream_.update(std::to_string(field.size()) + ":");
    stream_.update(field);
  }
  std::string finish() { return stream_.finish().hex(); }

 private:
  os::Sha256Stream stream_;
};

// Line numbers, the words behind "@@" and ids of text files stay out: a clean rebase keeps the
// rest.
os::Result<void> digest_patch(git_patch* patch, const DiffFile& file, FieldDigest& digest) {
  const git_diff_delta* const delta = git_patch_get_delta(patch);
  digest.add(std::string(1, file.status));
  digest.add(file.old_path);
  digest.add(file.path);
  digest.add(std::to_string(delta->old_file.mode));
  digest.add(std::to_string(delta->new_file.mode));
  if (file.binary) {
    digest.add(to_text(delta->old_file.id));
    digest.add(to_text(delta->new_file.id));
  }
  for (std::size_t hunk = 0; hunk < git_patch_num_hunks(patch); ++hunk) {
    digest.add("@@");
    const int lines = git_patch_num_lines_in_hunk(patch, hunk);
    for (int i = 0; i < lines; ++i) {
      const git_diff_line* line = nullptr;
      const int code = git_patch_get_line_in_hunk(&line, patch, hunk, static_cast<std::size_t>(i));
      if (code < 0) return fail_git(code, "diff of " + printable(file.path));
      digest.add(std::string(1, line->origin));
      digest.add({line->content, line->content_len});
    }
  }
  return {};
}

DiffFile describe_file(git_patch* patch) {
  const git_diff_delta* const delta = git_patch_get_delta(patch);
  DiffFile file;
  file.status = status_letter(delta->status);
  file.path = delta->new_file.path;
  file.old_path = file.status == 'R' ? delta->old_file.path : file.path;
  file.binary = (delta->flags & GIT_DIFF_FLAG_BINARY) != 0;
  std::size_t added = 0;
  std::size_t removed = 0;
  if (git_patch_line_stats(nullptr, &added, &removed, patch) == 0) {
    file.added = static_cast<std::int64_t>(added);
    file.removed = static_cast<std::int64_t>(removed);
  }
  return file;
}

// A path that is removed and added again changed its type.
void add_file(std::vector<DiffFile>& files, const DiffFile& file) {
  const bool is_second = !files.empty() && files.back().path == file.path &&
                         std::string{files.back().status, file.status} == "DA";
  if (!is_second) {
    files.push_back(file);
    return;
  }
  DiffFile& first = files.back();
  first.status = 'T';
  first.added += file.added;
  first.removed += file.removed;
  first.binary = first.binary || file.binary;
}

os::Result<std::string> patch_text(git_patch* patch) {
  git_buf buffer{};
  const int code = git_patch_to_buf(&buffer, patch);
  if (code < 0) return fail_git(code, "diff");
  std::string text(buffer.ptr, buffer.size);
  git_buf_dispose(&buffer);
  return text;
}

void keep_text(std::string& kept, std::string_view more, std::size_t limit) {
  const std::size_t room = limit - std::min(limit, kept.size());
  if (more.size() > room) {
    const std::size_t line = room == 0 ? more.npos : more.rfind('\n', room - 1);
    more = line == more.npos ? std::string_view{} : more.substr(0, line + 1);
  }
  kept.append(more);
}

os::Result<void> find_renames(git_diff* diff) {
  git_diff_find_options options{};
  git_diff_find_options_init(&options, GIT_DIFF_FIND_OPTIONS_VERSION);
  options.flags = GIT_DIFF_FIND_RENAMES;
  // Comparing each with each: the square of this many files at most.
  options.rename_limit = 200;
  const int code = git_diff_find_similar(diff, &options);
  if (code < 0) return fail_git(code, "find renames");
  return {};
}

// True if a tree has something other than a directory at a parent of `path`, or a directory at it.
os::Result<bool> stands_in_the_way(git_tree* tree, const std::string& path) {
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    git_tree_entry* entry = nullptr;
    const int code = git_tree_entry_bypath(&entry, tree, path.substr(0, end).c_str());
    if (code == GIT_ENOTFOUND) return false;
    if (code < 0) return fail_git(code, printable(path));
    const bool is_tree = git_tree_entry_type(entry) == GIT_OBJECT_TREE;
    git_tree_entry_free(entry);
    if (end == path.npos) return is_tree;
    if (!is_tree) return true;
  }
}

os::Result<TreeHandle> update(const Repository& repository, git_tree* tree,
                              const std::vector<git_tree_update>& updates) {
  git_oid oid{};
  const int code =
      git_tree_create_updated(&oid, repository.handle(), tree, updates.size(), updates.data());
  if (code < 0) return fail_git(code, "make a tree");
  return look_up(repository, TRY(TreeId::parse(to_text(oid))));
}

}  // namespace

os::Result<ShownDiff> show_diff(const Repository& repository, const TreeId& from, const TreeId& to,
                                std::size_t limit) {
  // No GIT_DIFF_INCLUDE_TYPECHANGE: the text would lack the contents of what changed its type.
  const DiffHandle diff = TRY(diff_trees(repository, {from, to}));
  TRY(find_renames(diff.get()));
  ShownDiff shown;
  FieldDigest digest;
  DiffViewer viewer;
  std::uint64_t whole = 0;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const PatchHandle patch = TRY(make<PatchHandle>(
        "diff", [&](git_patch** out) { return git_patch_from_diff(out, diff.get(), i); }));
    if (!patch) continue;
    const DiffFile file = describe_file(patch.get());
    TRY(digest_patch(patch.get(), file, digest));
    TRY(viewer.add(patch.get(), file));
    add_file(shown.diff.files, file);
    const std::string text = TRY(patch_text(patch.get()));
    // Nothing is added behind a cut.
    if (whole == shown.text.size()) keep_text(shown.text, text, limit);
    whole += text.size();
  }
  if (whole > shown.text.size())
    shown.text += "[cut: " + std::to_string(whole - shown.text.size()) + " of " +
                  std::to_string(whole) + " bytes of this diff are not shown]\n";
  shown.diff.digest = digest.finish();
  shown.view = viewer.take();
  return shown;
}

os::Result<std::vector<PathChange>> changed_paths(const Repository& repository, const TreeId& from,
                                                  const TreeId& to) {
  const DiffHandle diff = TRY(diff_trees(repository, {from, to, GIT_DIFF_INCLUDE_TYPECHANGE}));
  std::vector<PathChange> changes;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* const delta = git_diff_get_delta(diff.get(), i);
    PathChange change;
    change.path = delta->new_file.path;
    if (delta->status != GIT_DELTA_DELETED) {
      change.id = to_text(delta->new_file.id);
      change.mode = delta->new_file.mode;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

os::Result<TreeId> change_tree(const Repository& repository, const TreeId& tree,
                               const std::vector<PathChange>& changes, Refuser& refuser) {
  std::vector<git_tree_update> removals;
  std::vector<git_tree_update> updates;
  for (const PathChange& change : changes) {
    git_tree_update update{};
    update.path = change.path.c_str();
    if (change.id.empty()) {
      update.action = GIT_TREE_UPDATE_REMOVE;
      removals.push_back(update);
    } else {
      update.action = GIT_TREE_UPDATE_UPSERT;
      update.id = to_oid(change.id);
      update.filemode = static_cast<git_filemode_t>(change.mode);
      updates.push_back(update);
    }
  }
  TreeHandle at = TRY(look_up(repository, tree));
  if (!removals.empty()) at = TRY(update(repository, at.get(), removals));
  for (const git_tree_update& update : updates) {
    if (TRY(stands_in_the_way(at.get(), update.path)))
      return refuser.refuse({"guarded_conflict", update.path, 0,
                             "the change puts this in the place of a guarded path of the base, "
                             "so the base's checks cannot be run against it"});
  }
  if (!updates.empty()) at = TRY(update(repository, at.get(), updates));
  return TreeId::parse(to_text(*git_tree_id(at.get())));
}

os::Result<std::string> make_patch(const Repository& repository, const CommitId& base,
                                   const CommitId& head, std::size_t limit) {
  const TreeId from = TRY(repository.commit(base)).tree;
  const TreeId to = TRY(repository.commit(head)).tree;
  // No GIT_DIFF_INCLUDE_TYPECHANGE: a file that becomes a link is removed and added, as git writes
  // it.
  const DiffHandle diff = TRY(diff_trees(repository, {from, to, GIT_DIFF_SHOW_BINARY}));
  std::string text;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const PatchHandle patch = TRY(make<PatchHandle>(
        "diff", [&](git_patch** out) { return git_patch_from_diff(out, diff.get(), i); }));
    text += TRY(patch_text(patch.get()));
    if (text.size() > limit)
      return os::fail(os::Code::exhausted, "the patch has over " + std::to_string(limit) +
                                               " bytes: send the commit instead");
  }
  return text;
}

}  // namespace tasks::git
