#include <algorithm>
#include <array>

#include "runner/web/diff_lines.h"
#include "runner/web/file_list.h"
#include "runner/web/interdiff.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"
#include "sandbox/os/digest.h"

namespace runner::web {
namespace {

std::string mode_text(std::int64_t mode) {
  std::string text;
  for (; mode > 0; mode /= 8) text.insert(0, 1, static_cast<char>('0' + mode % 8));
  return text;
}

void add_number(Html& out, const std::string& anchor, char side, std::int64_t number) {
  if (number == 0) {
    out << "<td></td>";
    return;
  }
  out << "<td class=\"n\" id=\"" << anchor << std::string(1, side) << number << "\"><a href=\"#"
      << anchor << std::string(1, side) << number << "\">" << number << "</a></td>";
}

Markup kind_class(char kind) {
  switch (kind) {
    case '+':
      return "a";
    case '-':
      return "r";
    case 's':
      return "w";
    default:
      return "";
  }
}

// Said in a character too, so that it is not told by colour alone.
std::string sign_of(char kind) { return kind == 's' ? "≈" : std::string(1, kind); }

void add_unified(Html& out, const std::string& anchor, const std::vector<ShownLine>& lines) {
  for (const ShownLine& line : lines) {
    out << "<tr class=\"" << kind_class(line.kind) << "\">";
    add_number(out, anchor, 'L', line.old_number);
    add_number(out, anchor, 'R', line.new_number);
    out << "<td class=\"s\">" << sign_of(line.kind) << "</td><td class=\"c\">";
    add_line_text(out, line);
    out << "</td></tr>";
  }
}

void add_side(Html& out, const std::string& anchor, char side, const ShownLine* line) {
  if (line == nullptr) {
    out << "<td></td><td></td><td class=\"c none\"></td>";
    return;
  }
  add_number(out, anchor, side, side == 'L' ? line->old_number : line->new_number);
  out << "<td class=\"s " << kind_class(line->kind) << "\">" << sign_of(line->kind)
      << "</td><td class=\"c " << kind_class(line->kind) << "\">";
  add_line_text(out, *line);
  out << "</td>";
}

void add_split(Html& out, const std::string& anchor, const std::vector<ShownLine>& lines) {
  for (const ShownPair& pair : pair_lines(lines)) {
    out << "<tr>";
    add_side(out, anchor, 'L', pair.before);
    add_side(out, anchor, 'R', pair.after);
    out << "</tr>";
  }
}

void add_file(Html& out, const tasks::FileView& file, const DiffOptions& options, bool guarded) {
  const std::string anchor = file_anchor(file);
  out << "<details class=\"file\" data-item id=\"" << anchor << "\"";
  if (!is_generated(file.path) || guarded) out << " open";
  out << "><summary><h3>" << file.path << "</h3> <span class=\"dim\">" << file_status(file)
      << "</span> " << line_counts(file);
  if (guarded) out << " <span class=\"chip\">guarded</span>";
  if (is_generated(file.path) && !guarded)
    out << " <span class=\"chip calm\">folded: its name says that a tool wrote it</span>";
  out << "</summary>";
  if (file.old_mode != 0 && file.new_mode != 0 && file.old_mode != file.new_mode)
    out << "<p class=\"notice doubt\">Mode " << mode_text(file.old_mode) << " becomes "
        << mode_text(file.new_mode) << "</p>";
  if (file.binary) out << "<p class=\"dim\">Binary: its bytes are not shown.</p>";
  const bool is_split = options.form == DiffForm::split;
  out << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Diff of " << file.path
      << "\"><table class=\"diff " << (is_split ? Markup("split") : Markup("unified")) << "\">";
  if (is_split)
    out << "<colgroup><col class=\"cn\"><col class=\"cs\"><col><col class=\"cn\">"
           "<col class=\"cs\"><col></colgroup>";
  for (const tasks::DiffHunk& hunk : file.hunks) {
    out << "<tbody data-hunk><tr class=\"h\"><td colspan=\"" << (is_split ? 6 : 4) << "\">@@ −"
        << hunk.old_start << " +" << hunk.new_start << " @@ ";
    out.code(hunk.heading);
    out << "</td></tr>";
    const std::vector<ShownLine> lines = number_lines(hunk, options.hides_space);
    if (is_split)
      add_split(out, anchor, lines);
    else
      add_unified(out, anchor, lines);
    out << "</tbody>";
  }
  out << "</table></div>";
  if (file.cut > 0)
    out << "<p class=\"notice doubt\">" << file.cut
        << " further lines are not shown: download the patch.</p>";
  out << "</details>";
}

// The address of this page with one option changed.
void add_link(Html& out, const TaskData& data, const DiffOptions& options, Markup words,
              bool is_current) {
  out << "<a href=\"/tasks/" << data.task.id
      << "/diff?view=" << (options.form == DiffForm::split ? Markup("split") : Markup("unified"))
      << "&amp;space=" << (options.hides_space ? Markup("hide") : Markup("show"));
  if (!options.against.empty()) out << "&amp;against=" << options.against;
  out << "\"";
  if (is_current) out << " aria-current=\"true\"";
  out << ">" << words << "</a>";
}

void add_toolbar(Html& out, const TaskData& data, const DiffOptions& options) {
  out << "<nav class=\"tabs\" aria-label=\"How the diff is shown\">";
  const auto with = [&](DiffForm form, bool hides_space) {
    DiffOptions other = options;
    other.form = form;
    other.hides_space = hides_space;
    return other;
  };
  add_link(out, data, with(DiffForm::unified, options.hides_space), "Unified",
           options.form == DiffForm::unified);
  add_link(out, data, with(DiffForm::split, options.hides_space), "Split",
           options.form == DiffForm::split);
  add_link(out, data, with(options.form, !options.hides_space), "Hide white space",
           options.hides_space);
  out << "<a href=\"/tasks/" << data.task.id << "/patch\">Download</a></nav>";
}

void add_tree(Html& out, const std::vector<const tasks::FileView*>& files) {
  for (const tasks::FileView* file : files)
    out << "<li><a href=\"#" << file_anchor(*file) << "\">" << file->path << "</a> "
        << line_counts(*file) << "</li>";
}

struct Sorted {
  std::vector<const tasks::FileView*> guarded, others;
};

void add_files(Html& out, const Sorted& files, const DiffOptions& options) {
  out << "<div class=\"diffs\"><nav class=\"tree\" aria-label=\"Files\">";
  if (!files.guarded.empty()) {
    out << "<h2>Guarded files</h2><ul>";
    add_tree(out, files.guarded);
    out << "</ul>";
  }
  out << "<h2>Files</h2><ul>";
  add_tree(out, files.others);
  out << "</ul></nav><div class=\"pieces\">";
  if (!files.guarded.empty()) {
    out << "<h2>Guarded files: owners must approve these</h2>";
    for (const tasks::FileView* file : files.guarded) add_file(out, *file, options, true);
    out << "<h2>Other files</h2>";
  }
  for (const tasks::FileView* file : files.others) add_file(out, *file, options, false);
  out << "</div></div>";
}

}  // namespace

std::string file_anchor(const tasks::FileView& file) {
  return "f-" +
         os::sha256(file.path + std::string(1, file.status == 'D' ? 'D' : ' ')).hex().substr(0, 8);
}

std::string file_status(const tasks::FileView& file) {
  switch (file.status) {
    case 'A':
      return "added";
    case 'D':
      return "deleted";
    case 'R':
      return "renamed from " + file.old_path;
    default:
      return "changed";
  }
}

Html line_counts(const tasks::FileView& file) {
  Html out;
  return out << "<span class=\"counts\"><span class=\"plus\">+" << file.added
             << "</span> <span class=\"minus\">−" << file.removed << "</span></span>";
}

bool is_generated(std::string_view path) {
  static constexpr std::array<std::string_view, 10> kEndings{
      ".lock",    "-lock.json", "-lock.yaml", "go.sum", ".min.js",
      ".min.css", ".pb.cc",     ".pb.h",      ".pb.go", "_pb2.py"};
  return std::ranges::any_of(kEndings,
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

Html diff_body(const TaskData& data, const DiffOptions& options,
               const std::optional<tasks::DiffView>& earlier) {
  Html out;
  out << task_header(data) << file_tabs(data.task.id, true);
  if (!data.diff) return out << "<p class=\"empty\">The diff is no longer kept.</p>";
  add_toolbar(out, data, options);
  const tasks::DiffView shown = earlier ? compare_patches(*earlier, *data.diff) : *data.diff;
  if (!options.against.empty()) {
    out << "<p class=\"notice\">What changed since <a href=\"/tasks/" << options.against << "\">"
        << options.against << "</a>: lines that its patch had (−) and this one has (+). ";
    if (!earlier) out << "That patch is no longer kept; this is the whole diff. ";
    out << "<a href=\"/tasks/" << data.task.id << "/diff\">The whole diff</a></p>";
  }
  Sorted files;
  for (const tasks::FileView& file : shown.files) {
    const bool guarded = std::ranges::binary_search(data.task.guarded, file.path) ||
                         std::ranges::binary_search(data.task.guarded, file.old_path);
    (guarded ? files.guarded : files.others).push_back(&file);
  }
  if (shown.files.empty())
    out << "<p class=\"empty\">Nothing differs.</p>";
  else
    add_files(out, files, options);
  if (shown.cut > 0)
    out << "<p class=\"notice doubt\">" << shown.cut << " further files are not shown.</p>";
  return out << "<div id=\"decision\" data-part>" << decision_part(data) << "</div>";
}

}  // namespace runner::web
