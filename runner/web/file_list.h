// Words and anchors of files, shared by the verdict and the diff.
#pragma once

#include <string>
#include <string_view>

#include "runner/web/html.h"
#include "tasks/diff_view.h"

namespace runner::web {

// "f-0123abcd": the same for the same path, so that links last over patch sets.
std::string file_anchor(const tasks::FileView& file);
// "added", "renamed from a/b" …
std::string file_status(const tasks::FileView& file);
// "+3 −1"
Html line_counts(const tasks::FileView& file);
// True where a name says that a tool wrote the file; such a file is shown folded, never left out.
bool is_generated(std::string_view path);

// Verdict and diff of one task.
Html file_tabs(const std::string& task, bool is_diff);

}  // namespace runner::web
