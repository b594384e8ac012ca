#include "gates/diff_gate.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/change.h"
#include "tasks/policy.h"

namespace gates {

namespace {

bool is_forbidden(std::string_view glob, std::string_view path) {
  if (tasks::glob_matches(glob, path)) return true;
  if (glob.contains('/')) return false;
  return tasks::glob_matches(glob, path.substr(path.rfind('/') + 1));
}

void check_bound(std::int64_t figure, std::int64_t bound, std::string_view noun,
                 std::vector<Reason>& reasons) {
  if (figure <= bound) return;
  reasons.push_back(
      {fmt::format("the change touches {}, at most {} may be", counted(figure, noun), bound),
       {},
       {},
       {{"figure", figure}, {"bound", bound}}});
}

void check_forbidden(const tasks::Gate& gate, const tasks::DiffFile& file,
                     std::vector<Reason>& reasons) {
  if (file.status == 'D') return;
  for (const std::string& glob : gate.forbid) {
    const bool is_new = is_forbidden(glob, file.path);
    if (!is_new && !is_forbidden(glob, file.old_path)) continue;
    const std::string& path = is_new ? file.path : file.old_path;
    reasons.push_back(
        {fmt::format("{} is forbidden by \"{}\"", one_line(path), glob), path, {}, {}});
    return;
  }
}

}  // namespace

GateResult judge_diff(const tasks::Gate& gate, const tasks::Diff& diff) {
  GateResult result;
  result.name = gate.name;
  result.kind = gate.kind;
  // Computed by ingest, out of the change's reach.
  result.assurance = tasks::Assurance::out_of_process;
  std::int64_t lines = 0;
  for (const tasks::DiffFile& file : diff.files) {
    lines += file.added + file.removed;
    check_forbidden(gate, file, result.reasons);
  }
  const auto files = static_cast<std::int64_t>(diff.files.size());
  if (gate.max_lines) check_bound(lines, *gate.max_lines, "line", result.reasons);
  if (gate.max_files) check_bound(files, *gate.max_files, "file", result.reasons);
  result.status = result.reasons.empty() ? GateStatus::passed : GateStatus::failed;
  if (result.status == GateStatus::failed) result.failure = FailureClass::diff;
  result.summary = result.reasons.empty()
                       ? fmt::format("{} in {}", counted(lines, "line"), counted(files, "file"))
                       : result.reasons.front().text;
  bound_reasons(result.reasons);
  return result;
}

}  // namespace gates
