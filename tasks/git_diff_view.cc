#include "tasks/git_diff_view.h"

#include <git2.h>

#include <string>
#include <string_view>

#include "tasks/git_handle.h"

namespace tasks::git {
namespace {

// '=', '>', '<' of libgit2: a side without a newline at its end.
char kind_of(const git_diff_line& line) {
  switch (line.origin) {
    case GIT_DIFF_LINE_CONTEXT:
    case GIT_DIFF_LINE_ADDITION:
    case GIT_DIFF_LINE_DELETION:
      return line.origin;
    default:
      return '\\';
  }
}

std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// "@@ -1,2 +3,4 @@ heading"
std::string heading_of(const git_diff_hunk& hunk) {
  std::string_view header(static_cast<const char*>(hunk.header), hunk.header_len);
  const std::size_t end = header.find(" @@ ");
  if (end == header.npos) return {};
  header.remove_prefix(end + 4);
  return to_shown_utf8(without_newline(header));
}

void add_line(const git_diff_line& line, DiffHunk& hunk) {
  const char kind = kind_of(line);
  if (kind == '\\') {
    hunk.lines.emplace_back("\\");
    return;
  }
  const std::string_view text = without_newline({line.content, line.content_len});
  hunk.lines.push_back(kind + to_shown_utf8(text.substr(0, kDiffViewLine)));
  if (text.size() > kDiffViewLine)
    hunk.lines.push_back("~" + std::to_string(text.size() - kDiffViewLine));
}

}  // namespace

os::Result<void> DiffViewer::add(git_patch* patch, const DiffFile& file) {
  if (view_.files.size() == kDiffViewFiles) {
    ++view_.cut;
    return {};
  }
  const git_diff_delta* const delta = git_patch_get_delta(patch);
  FileView shown{.status = file.status,
                 .path = to_shown_utf8(file.path),
                 .old_path = to_shown_utf8(file.old_path),
                 .old_mode = delta->old_file.mode,
                 .new_mode = delta->new_file.mode,
                 .added = file.added,
                 .removed = file.removed,
                 .binary = file.binary,
                 .cut = 0,
                 .hunks = {}};
  for (std::size_t i = 0; i < git_patch_num_hunks(patch); ++i) {
    const git_diff_hunk* raw = nullptr;
    std::size_t lines = 0;
    if (const int code = git_patch_get_hunk(&raw, &lines, patch, i); code < 0)
      return fail_git(code, "diff view");
    DiffHunk hunk{.old_start = raw->old_start,
                  .new_start = raw->new_start,
                  .heading = heading_of(*raw),
                  .lines = {}};
    for (std::size_t at = 0; at < lines; ++at) {
      const git_diff_line* line = nullptr;
      const int code = git_patch_get_line_in_hunk(&line, patch, i, at);
      if (code < 0) return fail_git(code, "diff view");
      if (bytes_ >= kDiffViewBytes) {
        ++shown.cut;
        continue;
      }
      add_line(*line, hunk);
      bytes_ += hunk.lines.back().size() + 8;
    }
    if (!hunk.lines.empty()) shown.hunks.push_back(std::move(hunk));
  }
  view_.files.push_back(std::move(shown));
  return {};
}

}  // namespace tasks::git
