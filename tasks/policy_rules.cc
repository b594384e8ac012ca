#include "tasks/policy_rules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tasks/measured_pair.h"
#include "tasks/policy_yaml_fields.h"

namespace tasks {
namespace {

using Breaches = std::vector<PolicyBreach>;

std::string unknown_step(const Policy& policy, const StepName& name) {
  std::vector<std::string_view> names;
  for (const Step& step : policy.steps) names.emplace_back(step.name.str());
  const std::string nearest = nearest_name(name.str(), names);
  return fmt::format("there is no step '{}'; {}steps: {}", name.str(),
                     nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest),
                     list_names(names));
}

std::string why_need_is_wrong(const Policy& policy, const Step& step, const Need& need) {
  const Step* const needed = policy.find_step(need.step);
  if (needed == nullptr) return unknown_step(policy, need.step);
  if (needed == &step) return fmt::format("step '{}' needs itself", step.name.str());
  const std::string name = needed->name.str();
  if (needed->interact) {
    // It runs with the one step that reads from it and writes to it, at no other time.
    if (!step.from_base || !need.output.empty())
      return fmt::format(
          "step '{}' interacts: only a `from: base` step needs it, without an output", name);
    return {};
  }
  if (need.output.empty()) {
    if (needed->from_base == step.from_base) return {};
    return fmt::format(
        "step '{0}' runs in another domain: only its outputs can be needed, as "
        "{0}.<output>",
        name);
  }
  if (!step.from_base && !needed->from_base)
    return fmt::format("step '{0}' runs in the same workspace: write needs: [{0}]", name);
  if (needed->outputs.contains(need.output)) return {};
  std::vector<std::string_view> outputs;
  for (const auto& [output, path] : needed->outputs) outputs.emplace_back(output);
  return fmt::format("step '{}' has no output '{}'; its outputs: {}", name, need.output,
                     outputs.empty() ? "none" : list_names(outputs));
}

void check_needs(const Policy& policy, const Step& step, Breaches& breaches) {
  std::set<std::pair<StepName, std::string>> seen;
  for (std::size_t i = 0; i < step.needs.size(); ++i) {
    const Need& need = step.needs[i];
    std::string why = why_need_is_wrong(policy, step, need);
    if (why.empty() && !seen.emplace(need.step, need.output).second) why = "this need stands twice";
    if (!why.empty())
      breaches.push_back({fmt::format("steps.{}.needs.{}", step.name.str(), i), std::move(why)});
  }
}

void check_limits(const std::string& where, const sandbox::Limits& limits, Breaches& breaches) {
  if (limits.disk > limits.memory) {
    breaches.push_back(
        {where + ".disk",
         fmt::format("disk ({}) is more than memory ({}): written files are kept in "
                     "memory (tmpfs) and count as it",
                     os::format_bytes(limits.disk), os::format_bytes(limits.memory))});
  }
  if (limits.shm > limits.memory)
    breaches.push_back({where + ".shm", "shm is more than memory: it is a part of it"});
  if (limits.keep > limits.output)
    breaches.push_back(
        {where + ".keep", "keep is more than output, at which the command is killed"});
}

void check_wall(std::string where, const sandbox::Limits& limits, const Policy& policy,
                Breaches& breaches) {
  if (limits.wall <= policy.total) return;
  breaches.push_back(
      {std::move(where),
       fmt::format("wall ({}) is more than the attempt's total ({})",
                   os::format_duration(limits.wall), os::format_duration(policy.total))});
}

// A step speaks with one partner at most, and both have room on one lease.
void check_interactions(const Policy& policy, const Step& step, Breaches& breaches) {
  std::vector<const Step*> partners;
  for (const Need& need : step.needs) {
    const Step* const needed = policy.find_step(need.step);
    if (needed != nullptr && needed->interact) partners.push_back(needed);
  }
  if (partners.size() > 1)
    breaches.push_back({"steps." + step.name.str() + ".needs",
                        "a step is joined with one step that interacts, not with several"});
  // Two attempts that each hold some GPUs and wait for those of the other would wait for ever.
  if (step.gpu &&
      std::ranges::any_of(partners, [](const Step* one) { return one->gpu.has_value(); }))
    breaches.push_back({"steps." + step.name.str() + ".gpu",
                        "of a step that interacts and its judge only one may ask for GPUs"});
}

// A step that interacts has one partner, which speaks for both.
std::string why_interaction_is_wrong(const Policy& policy, const Step& step) {
  if (step.from_base) return "interact is for a step of the change: a judge needs it";
  if (!step.outputs.empty() || !step.reports.empty() || step.calls)
    return "a step that interacts has no outputs, reports and calls: its judge has what it says";
  const auto partners = std::ranges::count_if(policy.steps, [&step](const Step& other) {
    return std::ranges::find(other.needs, step.name, &Need::step) != other.needs.end();
  });
  if (partners == 1) return {};
  return fmt::format("exactly one `from: base` step needs a step that interacts, not {}", partners);
}

void check_steps(const Policy& policy, Breaches& breaches) {
  for (const Step& step : policy.steps) {
    const std::string where = "steps." + step.name.str();
    check_needs(policy, step, breaches);
    if (step.interact) {
      std::string why = why_interaction_is_wrong(policy, step);
      if (!why.empty()) breaches.push_back({where + ".interact", std::move(why)});
    }
    check_interactions(policy, step, breaches);
    if (step.limits != policy.limits) check_limits(where + ".limits", step.limits, breaches);
    if (step.limits.wall != policy.limits.wall)
      check_wall(where + ".limits.wall", step.limits, policy, breaches);
    for (std::size_t i = 0; i < step.reports.size(); ++i) {
      const auto same = std::ranges::count(step.reports, step.reports[i].path, &ReportSpec::path);
      if (same > 1)
        breaches.push_back({fmt::format("{}.report.{}", where, i), "two reports have this path"});
    }
  }
}

// Names the steps of a circle, or nothing. Depth-first; a step that is left is never entered again.
class CircleSearch {
 public:
  explicit CircleSearch(const Policy& policy) : policy_(policy) {}

  std::string from(const Step& step) {
    const auto open = std::ranges::find(path_, step.name);
    if (open != path_.end()) {
      std::string circle;
      for (auto name = open; name != path_.end(); ++name) circle += name->str() + " → ";
      return circle + step.name.str();
    }
    if (!done_.insert(step.name).second) return {};
    path_.push_back(step.name);
    for (const Need& need : step.needs) {
      const Step* const needed = policy_.find_step(need.step);
      if (needed == nullptr) continue;
      if (std::string circle = from(*needed); !circle.empty()) return circle;
    }
    path_.pop_back();
    return {};
  }

 private:
  const Policy& policy_;
  std::vector<StepName> path_;
  std::set<StepName> done_;
};

// True if there is none.
bool check_circles(const Policy& policy, Breaches& breaches) {
  CircleSearch search(policy);
  for (const Step& step : policy.steps) {
    const std::string circle = search.from(step);
    if (circle.empty()) continue;
    breaches.push_back({"steps." + step.name.str() + ".needs", "needs form a circle: " + circle});
    return false;
  }
  return true;
}

bool has_report_for(GateKind kind, const Step& step) {
  return std::ranges::any_of(step.reports, [kind](const ReportSpec& report) {
    return report_kind(report.format) ==
           (kind == GateKind::benchmark ? ReportKind::benchmark : ReportKind::tests);
  });
}

bool is_comparing(GateKind kind) {
  return kind == GateKind::determinism || kind == GateKind::parity;
}

// Of the step of a gate that compares outputs.
std::string why_compared_step_is_wrong(const Policy& policy, const Step& step) {
  const std::string name = step.name.str();
  if (step.from_base)
    return fmt::format("step '{}' is from: base: what is compared is the change's", name);
  const bool is_shared = std::ranges::any_of(policy.steps, [&step](const Step& other) {
    return std::ranges::any_of(other.needs, [&step](const Need& need) {
      return need.step == step.name && need.output.empty();
    });
  });
  if (!is_shared) return {};
  return fmt::format(
      "step '{}' is needed by another step of its side, so its writes stay: it cannot run afresh",
      name);
}

// What an outside clock measures is worth something only if all that was measured is checked too.
std::string why_clock_is_wrong(const Policy& policy, const Step& step) {
  const std::string& name = step.name.str();
  if (!step.calls)
    return fmt::format("an outside clock needs 'calls: [n1, n2]' on step '{}'", name);
  const MeasuredSteps measured = measured_steps(policy, step.name);
  if (measured.is_fed_by_change)
    return fmt::format(
        "what step '{}' is fed with may need no output of the change: an outside "
        "clock needs inputs that the base alone makes",
        name);
  const auto interacts = [&policy](const StepName& after) {
    return policy.find_partner(*policy.find_step(after)) != nullptr;
  };
  if (std::ranges::any_of(measured.after, interacts))
    return fmt::format("what judges step '{}' for an outside clock may not interact with another",
                       name);
  const bool is_judged = std::ranges::any_of(measured.after, [&](const StepName& after) {
    return has_report_for(GateKind::tests, *policy.find_step(after));
  });
  if (is_judged) return {};
  return fmt::format(
      "an outside clock needs a judge of step '{0}': a `from: base` step with a "
      "report of tests that needs an output of '{0}'",
      name);
}

std::string why_gate_step_is_wrong(const Policy& policy, const Gate& gate, const StepName& name) {
  const Step* const step = policy.find_step(name);
  if (step == nullptr) return unknown_step(policy, name);
  if (std::ranges::count(gate.steps, name) > 1)
    return fmt::format("step '{}' stands twice", name.str());
  if (gate.kind == GateKind::benchmark && step->from_base)
    return fmt::format("step '{}' is from: base: a benchmark gate compares the change's own step",
                       name.str());
  if (is_comparing(gate.kind)) return why_compared_step_is_wrong(policy, *step);
  if (gate.clock != GateClock::report) return why_clock_is_wrong(policy, *step);
  if (has_report_for(gate.kind, *step)) return {};
  return gate.kind == GateKind::benchmark
             ? fmt::format("step '{}' needs a report of benchmarks: google-benchmark or criterion",
                           name.str())
             : fmt::format(
                   "step '{}' needs a report of tests: gtest-json, gtest-xml, "
                   "ctest-junit, pytest, catch2, nextest, go-test or tap",
                   name.str());
}

// "step.output/file" of a `from: base` step, or "base".
std::string why_reference_is_wrong(const Policy& policy, const ParityOutput& output) {
  if (output.reference == "base" || output.reference.empty()) return {};
  const std::size_t dot = output.reference.find('.');
  const std::string step = output.reference.substr(0, dot);
  const Step* const found = policy.find_step(StepName(step));
  if (dot == std::string::npos || found == nullptr || !found->from_base)
    return fmt::format("reference '{}' is neither base nor step.output of a `from: base` step",
                       output.reference);
  const std::string rest = output.reference.substr(dot + 1);
  const auto declared = found->outputs.find(rest.substr(0, rest.find('/')));
  if (declared == found->outputs.end())
    return fmt::format("step '{}' has no output '{}'", step, rest.substr(0, rest.find('/')));
  if (rest.contains('/') != declared->second.ends_with('/'))
    return fmt::format("reference '{}' names no file: an output that is a directory needs one",
                       output.reference);
  return {};
}

std::string why_output_is_wrong(const Step& step, const std::string& path, bool is_file) {
  const std::string name = path.substr(0, path.find('/'));
  const auto declared = step.outputs.find(name);
  if (declared == step.outputs.end())
    return fmt::format("step '{}' has no output '{}'", step.name.str(), name);
  if (is_file && path.contains('/') != declared->second.ends_with('/'))
    return fmt::format("'{}' names no file: of an output that is a directory, name one in it",
                       path);
  return {};
}

void check_compared(const Policy& policy, const Gate& gate, const std::string& where,
                    Breaches& breaches) {
  const Step* const step = gate.steps.empty() ? nullptr : policy.find_step(gate.steps.front());
  if (step == nullptr) return;
  const auto add = [&](std::size_t number, std::string why) {
    if (!why.empty())
      breaches.push_back({fmt::format("{}.outputs.{}", where, number), std::move(why)});
  };
  for (std::size_t i = 0; i < gate.outputs.size(); ++i)
    add(i, why_output_is_wrong(*step, gate.outputs[i], false));
  for (std::size_t i = 0; i < gate.parity.size(); ++i) {
    std::string why = why_output_is_wrong(*step, gate.parity[i].path, true);
    add(i, why.empty() ? why_reference_is_wrong(policy, gate.parity[i]) : std::move(why));
  }
}

void check_gates(const Policy& policy, Breaches& breaches) {
  for (const Gate& gate : policy.gates) {
    const std::string where = "gates." + gate.name.str();
    if (gate.kind == GateKind::tests && gate.steps.empty())
      breaches.push_back({where + ".steps", "a tests gate needs at least one step"});
    for (std::size_t i = 0; i < gate.steps.size(); ++i) {
      std::string why = why_gate_step_is_wrong(policy, gate, gate.steps[i]);
      if (!why.empty()) breaches.push_back({fmt::format("{}.steps.{}", where, i), std::move(why)});
    }
    check_compared(policy, gate, where, breaches);
  }
}

}  // namespace

std::vector<PolicyBreach> find_breaches(const Policy& policy) {
  Breaches breaches;
  check_limits("limits", policy.limits, breaches);
  check_wall("limits.wall", policy.limits, policy, breaches);
  check_steps(policy, breaches);
  if (check_circles(policy, breaches)) check_gates(policy, breaches);
  const Promotion& promotion = policy.promotion;
  const bool is_checked = promotion.assurance && *promotion.assurance != Assurance::in_process;
  if (promotion.approvals == 0 && !is_checked) {
    breaches.push_back(
        {"promotion.approvals", "approvals: 0 needs assurance: out-of-process or sealed"});
  }
  return breaches;
}

}  // namespace tasks
