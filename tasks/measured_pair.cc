#include "tasks/measured_pair.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tasks {
namespace {

bool is_report_of_tests(const ReportSpec& report) {
  return report_kind(report.format) == ReportKind::tests;
}

// Walks along needs of outputs and of order, from the measured step and from its judges.
class Surroundings {
 public:
  Surroundings(const Policy& policy, const StepName& step) : policy_(policy), step_(step) {}

  MeasuredSteps find() {
    const Step* const step = policy_.find_step(step_);
    if (step == nullptr) return {};
    for (const Need& need : step->needs) {
      const Step* const needed = policy_.find_step(need.step);
      if (needed == nullptr || !needed->from_base) continue;
      if (sees_change(*needed)) found_.is_fed_by_change = true;
      add(*needed);
    }
    for (const Step& judge : policy_.steps) {
      if (judge.from_base && sees_measured(judge) &&
          std::ranges::any_of(judge.reports, is_report_of_tests))
        add(judge);
    }
    return std::move(found_);
  }

 private:
  // True if some output that the step needs, however far, is of the step itself measured.
  bool sees_measured(const Step& step) {
    const auto known = sees_measured_.find(step.name);
    if (known != sees_measured_.end()) return known->second;
    const bool sees = std::ranges::any_of(step.needs, [this](const Need& need) {
      if (need.output.empty()) return false;
      if (need.step == step_) return true;
      const Step* const needed = policy_.find_step(need.step);
      return needed != nullptr && needed->from_base && sees_measured(*needed);
    });
    return sees_measured_[step.name] = sees;
  }

  // The same of any step of the change.
  bool sees_change(const Step& step) {
    const auto known = sees_change_.find(step.name);
    if (known != sees_change_.end()) return known->second;
    const bool sees = std::ranges::any_of(step.needs, [this](const Need& need) {
      const Step* const needed = policy_.find_step(need.step);
      return needed != nullptr && (!needed->from_base || sees_change(*needed));
    });
    return sees_change_[step.name] = sees;
  }

  void add(const Step& step) {
    if (!seen_.insert(step.name).second) return;
    for (const Need& need : step.needs) {
      const Step* const needed = policy_.find_step(need.step);
      if (needed == nullptr || !needed->from_base) continue;
      if (need.output.empty()) {
        if (std::ranges::find(found_.order, needed->name) == found_.order.end())
          found_.order.push_back(needed->name);
      } else {
        add(*needed);
      }
    }
    (sees_measured(step) ? found_.after : found_.before).push_back(step.name);
  }

  const Policy& policy_;
  const StepName& step_;
  std::set<StepName> seen_;
  std::map<StepName, bool> sees_measured_;
  std::map<StepName, bool> sees_change_;
  MeasuredSteps found_;
};

}  // namespace

MeasuredSteps measured_steps(const Policy& policy, const StepName& step) {
  return Surroundings(policy, step).find();
}

RunKey judge_key(const StepName& step, Side other, int pair) {
  return RunKey{Side::judge, other, step, pair};
}

RunKey leg_key(const StepName& step, Side side, int pair, int leg) {
  return RunKey{side, side, step, pair, Variant::plain, leg};
}

std::vector<RunKey> sources_of(const Policy& policy, const RunKey& key, const Need& need) {
  const Step* const step = policy.find_step(need.step);
  const bool is_of_base = step != nullptr && step->from_base;
  std::vector<RunKey> sources;
  if (key.leg && is_of_base) {
    for (const Side other : {Side::change, Side::mixed})
      sources.push_back(judge_key(need.step, other, *key.pair));
  } else if (key.pair && key.side == Side::judge) {
    sources.push_back(is_of_base ? judge_key(need.step, key.of, *key.pair)
                                 : leg_key(need.step, key.of, *key.pair, 1));
  }
  RunKey plain{is_of_base ? Side::judge : key.of, key.of, need.step, std::nullopt};
  if (!is_of_base && key.variant == Variant::relinked) plain.variant = key.variant;
  sources.push_back(std::move(plain));
  return sources;
}

int calls_of(const Policy& policy, const RunKey& key) {
  const Step* const step = policy.find_step(key.step);
  if (step == nullptr) return 0;
  if (step->calls) return key.leg == 0 ? step->calls->fewer : step->calls->more;
  if (!step->from_base) return 0;
  int calls = 0;
  for (const Step& other : policy.steps) {
    if (!other.calls) continue;
    const MeasuredSteps around = measured_steps(policy, other.name);
    const auto holds = [&key](const std::vector<StepName>& names) {
      return std::ranges::find(names, key.step) != names.end();
    };
    if (holds(around.before) || holds(around.after)) calls = std::max(calls, other.calls->more);
  }
  return calls;
}

}  // namespace tasks
