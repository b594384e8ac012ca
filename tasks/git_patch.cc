#include "tasks/git_patch.h"

#include <git2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "tasks/git_diff.h"
#include "tasks/git_handle.h"
#include "tasks/git_hunks.h"
#include "tasks/git_patch_text.h"
#include "tasks/git_tree.h"

namespace tasks::git {
namespace {

using Files = std::map<std::string, Repository::File>;

constexpr bool is_regular(std::uint32_t mode) { return mode == 0100644 || mode == 0100755; }
constexpr std::uint32_t kSymlink = 0120000;

bool has_old(git_delta_t status) { return status != GIT_DELTA_ADDED; }
bool has_new(git_delta_t status) { return status != GIT_DELTA_DELETED; }

std::string path_of(const char* path) { return path == nullptr ? "" : path; }

// The last "line N" of a message of the parser; 0: none.
std::int64_t line_of(std::string_view message) {
  constexpr std::string_view kWord = "line ";
  const std::size_t at = message.rfind(kWord);
  std::int64_t line = 0;
  if (at != message.npos)
    std::from_chars(message.data() + at + kWord.size(), message.data() + message.size(), line);
  return line;
}

os::Result<DiffHandle> parse(const CompletePatch& patch, Refuser& refuser) {
  os::Result<DiffHandle> diff = make<DiffHandle>("the patch", [&](git_diff** out) {
    return git_diff_from_buffer(out, patch.text.data(), patch.text.size());
  });
  if (!diff) {
    const std::int64_t line = line_of(diff.error().message);
    return refuser.refuse(
        {"invalid_patch", "", line == 0 ? 0 : patch.original_line(line),
         diff.error().message +
             " (line counts in '@@' must be right; 'git diff' makes such patches)"});
  }
  return diff;
}

std::string hunk_header(const git_diff_hunk& hunk) {
  const std::string_view text(hunk.header, hunk.header_len);
  const std::size_t end = text.find("@@", 2);
  return printable(end == text.npos ? text : text.substr(0, end + 2), 80);
}

// Checks a parsed patch against the base and finds where its hunks stand.
class PatchChecker {
 public:
  PatchChecker(const Repository& repository, const TreeId& base, Refuser& refuser)
      : repository_(repository), base_(base), refuser_(refuser) {}

  os::Result<void> check(git_diff* diff) {
    for (std::size_t i = 0; i < git_diff_num_deltas(diff); ++i)
      TRY(check_names(*git_diff_get_delta(diff, i)));
    for (std::size_t i = 0; i < git_diff_num_deltas(diff); ++i) {
      const PatchHandle patch = TRY(make<PatchHandle>(
          "the patch", [&](git_patch** out) { return git_patch_from_diff(out, diff, i); }));
      TRY(check_file(patch.get()));
    }
    return {};
  }

  // Line of each text hunk in the file as patched so far, in the order of the patch.
  const std::vector<std::int64_t>& starts() const { return starts_; }
  bool has_moved() const { return has_moved_; }
  const std::set<std::string>& paths() const { return paths_; }
  const Files& old_files() const { return old_files_; }

 private:
  std::unexpected<os::Error> refuse(std::string code, const std::string& path, std::string detail,
                                    std::int64_t line = 0) {
    return refuser_.refuse({std::move(code), path, line, std::move(detail)});
  }

  os::Result<void> check_names(const git_diff_delta& delta) {
    const std::string old_path = path_of(delta.old_file.path);
    const std::string new_path = path_of(delta.new_file.path);
    for (const auto& [path, mode] :
         {std::pair{old_path, delta.old_file.mode}, std::pair{new_path, delta.new_file.mode}}) {
      const std::string problem = path_problem(path);
      if (!problem.empty()) return refuse("invalid_path", path, "the patch has " + problem);
      if (mode == 0160000)
        return refuse("invalid_mode", path, "a submodule: submodules are not supported yet");
      if (mode != 0 && !is_regular(mode) && mode != kSymlink)
        return refuse("invalid_mode", path, "allowed are 100644, 100755 and 120000");
    }
    if (has_old(delta.status)) {
      paths_.insert(old_path);
      if (delta.status != GIT_DELTA_COPIED && !old_paths_.insert(old_path).second)
        return refuse("invalid_patch", old_path,
                      "the patch names it twice; post one combined diff");
    }
    if (has_new(delta.status)) {
      paths_.insert(new_path);
      if (!new_paths_.insert(new_path).second)
        return refuse("invalid_patch", new_path,
                      "the patch names it twice; post one combined diff");
    }
    if (delta.status == GIT_DELTA_DELETED || delta.status == GIT_DELTA_RENAMED)
      freed_.insert(old_path);
    return {};
  }

  os::Result<void> check_file(git_patch* patch) {
    const git_diff_delta& delta = *git_patch_get_delta(patch);
    const std::string old_path = path_of(delta.old_file.path);
    const std::string new_path = path_of(delta.new_file.path);
    const bool is_made = delta.status == GIT_DELTA_ADDED || delta.status == GIT_DELTA_RENAMED ||
                         delta.status == GIT_DELTA_COPIED;
    if (is_made && !freed_.contains(new_path) && repository_.find_file(base_, new_path))
      return refuse("patch_conflict", new_path, "the patch makes it, but the base has it already");
    std::string content;
    if (has_old(delta.status)) {
      const os::Result<Repository::File> file = repository_.find_file(base_, old_path);
      if (!file)
        return refuse("patch_conflict", old_path,
                      "the base has no such file; paths in a patch are "
                      "relative to the repository's root");
      TRY(check_kind(delta, old_path, *file));
      old_files_[old_path] = *file;
      content = TRY(repository_.read(file->id)).bytes;
    }
    if ((delta.flags & GIT_DIFF_FLAG_BINARY) != 0) return check_binary(delta, old_path);
    return place_hunks(patch, old_path.empty() ? new_path : old_path, content);
  }

  os::Result<void> check_kind(const git_diff_delta& delta, const std::string& path,
                              const Repository::File& file) {
    const bool is_link = file.mode == kSymlink;
    const bool takes_link = delta.old_file.mode == kSymlink;
    if (is_link != takes_link && (is_link || delta.old_file.mode != 0))
      return refuse(
          "patch_conflict", path,
          is_link ? "it is a symbolic link in the base" : "it is no symbolic link in the base");
    return {};
  }

  os::Result<void> check_binary(const git_diff_delta& delta, const std::string& path) {
    // Only a removal is not compared with the base by the library.
    if (delta.status != GIT_DELTA_DELETED || delta.old_file.id_abbrev != GIT_OID_HEXSZ) return {};
    if (to_text(delta.old_file.id) == old_files_[path].id) return {};
    return refuse("patch_conflict", path, "the base has other contents than the patch removes");
  }

  os::Result<void> place_hunks(git_patch* patch, const std::string& path,
                               const std::string& content) {
    const std::vector<std::string_view> lines = split_lines(content);
    std::size_t from = 0;
    std::size_t covered = 0;
    std::int64_t shift = 0;  // by which earlier hunks stood elsewhere
    std::int64_t grown = 0;  // lines that earlier hunks added
    for (std::size_t i = 0; i < git_patch_num_hunks(patch); ++i) {
      const git_diff_hunk* raw = nullptr;
      const int code = git_patch_get_hunk(&raw, nullptr, patch, i);
      if (code < 0) return fail_git(code, "the patch");
      const Hunk hunk = TRY(read_hunk(patch, i, *raw));
      const auto at = find_hunk(hunk, lines, from, shift);
      if (!at) {
        const NearestMatch nearest = nearest_match(hunk, lines);
        return refuse("patch_conflict", path,
                      "hunk " + hunk.header + " does not apply: " + nearest.text, nearest.line);
      }
      const auto index = static_cast<std::int64_t>(*at);
      shift = index - (hunk.before.empty() ? hunk.line : std::max<std::int64_t>(hunk.line, 1) - 1);
      starts_.push_back(index + grown + 1);
      has_moved_ = has_moved_ || starts_.back() != std::max(raw->new_start, 1);
      grown += raw->new_lines - raw->old_lines;
      from = *at + hunk.before.size();
      covered += hunk.before.size();
    }
    if (git_patch_get_delta(patch)->status == GIT_DELTA_DELETED && covered != lines.size())
      return refuse("patch_conflict", path,
                    "the base's file has lines that the patch does not remove");
    return {};
  }

  os::Result<Hunk> read_hunk(git_patch* patch, std::size_t number, const git_diff_hunk& raw) {
    Hunk hunk{hunk_header(raw), raw.old_start, {}};
    bool is_before = false;  // the last line read
    const int count = git_patch_num_lines_in_hunk(patch, number);
    for (int i = 0; i < count; ++i) {
      const git_diff_line* line = nullptr;
      const int code =
          git_patch_get_line_in_hunk(&line, patch, number, static_cast<std::size_t>(i));
      if (code < 0) return fail_git(code, "the patch");
      const std::string_view text(line->content, line->content_len);
      switch (line->origin) {
        case GIT_DIFF_LINE_CONTEXT:
        case GIT_DIFF_LINE_DELETION:
          hunk.before.push_back(text);
          is_before = true;
          break;
        case GIT_DIFF_LINE_ADDITION:
          is_before = false;
          break;
        default:
          // "\ No newline at end of file" belongs to the line before it.
          if (is_before && hunk.before.back().ends_with('\n')) hunk.before.back().remove_suffix(1);
      }
    }
    return hunk;
  }

  const Repository& repository_;
  const TreeId& base_;
  Refuser& refuser_;
  std::set<std::string> paths_, old_paths_, new_paths_, freed_;
  Files old_files_;
  std::vector<std::int64_t> starts_;
  bool has_moved_ = false;
};

// A changed file keeps the base's mode unless the patch states another.
os::Result<void> restore_modes(git_index* index, git_diff* diff, const Files& files) {
  for (std::size_t i = 0; i < git_diff_num_deltas(diff); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(diff, i);
    if (!has_old(delta.status) || !has_new(delta.status)) continue;
    const bool is_stated = delta.old_file.mode != delta.new_file.mode && delta.new_file.mode != 0 &&
                           delta.old_file.mode != 0;
    const git_index_entry* const found = git_index_get_bypath(index, delta.new_file.path, 0);
    if (is_stated || found == nullptr) continue;
    git_index_entry entry = *found;
    entry.mode = files.at(delta.old_file.path).mode;
    if (entry.mode == found->mode) continue;
    const std::string path = delta.new_file.path;
    entry.path = path.c_str();
    const int code = git_index_add(index, &entry);
    if (code < 0) return fail_git(code, printable(path));
  }
  return {};
}

os::Result<TreeId> write_tree(const Repository& repository, git_index* index) {
  git_oid oid{};
  const int code = git_index_write_tree_to(&oid, index, repository.handle());
  if (code < 0) return fail_git(code, "write the patched tree");
  return TreeId::parse(to_text(oid));
}

os::Result<IndexHandle> apply(const Repository& repository, const TreeId& base, git_diff* diff,
                              Refuser& refuser) {
  const git_oid oid = to_oid(base.hex());
  const TreeHandle tree = TRY(make<TreeHandle>("tree " + base.hex(), [&](git_tree** out) {
    return git_tree_lookup(out, repository.handle(), &oid);
  }));
  std::string path;
  git_apply_options options{};
  git_apply_options_init(&options, GIT_APPLY_OPTIONS_VERSION);
  options.payload = &path;
  options.delta_cb = [](const git_diff_delta* delta, void* payload) {
    *static_cast<std::string*>(payload) = path_of(delta->new_file.path);
    return 0;
  };
  os::Result<IndexHandle> index = make<IndexHandle>("the patch", [&](git_index** out) {
    return git_apply_to_tree(out, repository.handle(), tree.get(), diff, &options);
  });
  if (index) return index;
  const bool has_no_data = index.error().message.contains("does not contain binary data");
  return refuser.refuse(
      {has_no_data ? "invalid_patch" : "patch_conflict", path, 0,
       index.error().message +
           (has_no_data ? "; make it with 'git diff --binary --full-index'" : "")});
}

}  // namespace

os::Result<TreeId> apply_patch(const Repository& repository, const TreeId& base,
                               std::string_view patch, Refuser& refuser) {
  CompletePatch complete = complete_patch(patch, [&](const std::string& path) {
    return path_problem(path).empty() && repository.find_file(base, path).has_value();
  });
  DiffHandle diff = TRY(parse(complete, refuser));
  if (git_diff_num_deltas(diff.get()) == 0)
    return refuser.refuse({"empty_patch", "", 0, "the patch changes no file"});
  PatchChecker checker(repository, base, refuser);
  TRY(checker.check(diff.get()));
  if (checker.has_moved()) {
    complete.text = move_hunks(complete.text, checker.starts());
    diff = TRY(parse(complete, refuser));
  }
  const IndexHandle index = TRY(apply(repository, base, diff.get(), refuser));
  TRY(restore_modes(index.get(), diff.get(), checker.old_files()));
  const TreeId tree = TRY(write_tree(repository, index.get()));
  for (const PathChange& change : TRY(changed_paths(repository, base, tree))) {
    if (!checker.paths().contains(change.path))
      return refuser.refuse({"patch_conflict", change.path, 0,
                             "the patch puts something in its place without naming it"});
  }
  return tree;
}

}  // namespace tasks::git
