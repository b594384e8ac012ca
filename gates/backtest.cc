#include "gates/backtest.h"

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gates/gate.h"

namespace gates {
namespace {

using tasks::Policy;

std::vector<std::string> guarded_paths(const Policy& policy, const tasks::Evidence& evidence) {
  std::vector<std::string> paths = evidence.change.diff.paths();
  std::erase_if(paths, [&](const std::string& path) { return !is_guarded(policy, path); });
  return paths;
}

std::string why_guarded_differs(const Policy& then, const Policy& now,
                                const tasks::Evidence& evidence) {
  const std::vector<std::string> before = guarded_paths(then, evidence);
  const std::vector<std::string> after = guarded_paths(now, evidence);
  const auto [left, right] = std::ranges::mismatch(before, after);
  if (right != after.end() && (left == before.end() || *right < *left))
    return fmt::format("{} would be guarded, and the base's version of it was not run", *right);
  if (left != before.end()) return fmt::format("{} would not be guarded any more", *left);
  return {};
}

std::string why_step_differs(const Policy& then, const Policy& now,
                             const tasks::Evidence& evidence) {
  for (const tasks::RunRecord& run : evidence.runs) {
    const tasks::Step* const before = then.find_step(run.key.step);
    const tasks::Step* const after = now.find_step(run.key.step);
    if (after != nullptr && before != nullptr && *after != *before)
      return fmt::format("step {} would run differently", run.key.step.str());
  }
  return {};
}

// What `next` would do with this evidence; empty: nothing is missing.
std::string why_incomplete(const Policy& now, const tasks::Evidence& evidence) {
  const Next missing = next(now, evidence);
  if (const auto* const run = std::get_if<NextRun>(&missing))
    return fmt::format("step {} was not run on {}", run->key.step.str(),
                       tasks::side_name(run->key.of));
  if (const auto* const pair = std::get_if<NextPair>(&missing))
    return fmt::format("step {} would be measured in more than {} pairs", pair->step.str(),
                       pair->pair);
  if (const auto* const comparison = std::get_if<NextCompare>(&missing))
    return fmt::format("output {} was not compared", comparison->key.output);
  return {};
}

}  // namespace

Replay replay(const Policy& then, const Policy& now, const tasks::Evidence& evidence) {
  Replay answer;
  answer.unknown = why_guarded_differs(then, now, evidence);
  if (answer.unknown.empty()) answer.unknown = why_step_differs(then, now, evidence);
  if (answer.unknown.empty()) answer.unknown = why_incomplete(now, evidence);
  if (answer.unknown.empty()) answer.judgement = judge(now, evidence);
  return answer;
}

}  // namespace gates
