#include "tests/support/evidence_builder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gates/gate.h"
#include "sandbox/os/result.h"
#include "tasks/measured_pair.h"

namespace tests {

using tasks::RunKey;
using tasks::Side;
using tasks::StepName;

std::vector<tasks::TestCase> passing(const std::vector<std::string>& ids) {
  std::vector<tasks::TestCase> cases;
  for (const std::string& id : ids) {
    tasks::TestCase test;
    test.id = id;
    test.status = tasks::CaseStatus::passed;
    cases.push_back(test);
  }
  std::ranges::sort(cases, {}, &tasks::TestCase::id);
  return cases;
}

std::vector<tasks::TestCase> with_status(std::vector<tasks::TestCase> cases, const std::string& id,
                                         tasks::CaseStatus status) {
  const auto found = std::ranges::find(cases, id, &tasks::TestCase::id);
  os::check(found != cases.end(), "with_status: no such case");
  found->status = status;
  const bool is_bad = status == tasks::CaseStatus::failed || status == tasks::CaseStatus::error;
  if (is_bad) {
    found->message = "expected 3,\n  got 4";
    found->file = "tests/ring_test.cc";
    found->line = 41;
  }
  return cases;
}

std::vector<tasks::TestCase> without(std::vector<tasks::TestCase> cases, const std::string& id) {
  std::erase_if(cases, [&id](const tasks::TestCase& test) { return test.id == id; });
  return cases;
}

std::vector<tasks::BenchRow> bench_rows(const std::string& name, std::int64_t picoseconds,
                                        int repetitions) {
  constexpr std::int64_t kTenMilliseconds = 10'000'000'000;
  std::vector<tasks::BenchRow> rows;
  for (int i = 0; i < repetitions; ++i) {
    tasks::BenchRow row;
    row.name = name;
    // The least one is neither the first nor the last.
    row.picoseconds = i == repetitions / 2 ? picoseconds : picoseconds + picoseconds / 5;
    row.iterations = std::max<std::int64_t>(1, kTenMilliseconds / row.picoseconds);
    row.repetition = i;
    rows.push_back(row);
  }
  return rows;
}

tasks::Need need(const std::string& step, const std::string& output) {
  return {StepName(step), output};
}

tasks::Step make_step(const std::string& name, const std::vector<tasks::Need>& needs) {
  tasks::Step step;
  step.name = StepName(name);
  step.run = "run " + name;
  step.needs = needs;
  return step;
}

tasks::Gate make_tests_gate(const std::string& name, const std::vector<std::string>& steps) {
  tasks::Gate gate;
  gate.name = tasks::GateName(name);
  gate.kind = tasks::GateKind::tests;
  for (const std::string& step : steps) gate.steps.emplace_back(step);
  return gate;
}

tasks::Policy sample_policy() {
  tasks::Policy policy;
  policy.subject = {"src/**", "include/**"};
  tasks::Step test = make_step("test", {need("build")});
  test.reports = {{tasks::ReportFormat::gtest_json, "report.json"}};
  tasks::Step bench = make_step("bench", {need("build")});
  bench.reports = {{tasks::ReportFormat::google_benchmark, "bench.json"}};
  tasks::Step gen = make_step("gen");
  gen.from_base = true;
  gen.outputs = {{"in", "in/"}, {"expected", "expected/"}};
  tasks::Step work = make_step("work", {need("build"), need("gen", "in")});
  work.outputs = {{"out", "out/"}};
  tasks::Step judge = make_step("judge", {need("gen", "expected"), need("work", "out")});
  judge.from_base = true;
  judge.reports = {{tasks::ReportFormat::tap, "judge.tap"}};
  policy.steps = {make_step("build"), test, bench, gen, work, judge};

  tasks::Gate speed = make_tests_gate("speed", {"bench"});
  speed.kind = tasks::GateKind::benchmark;
  speed.tolerance = tasks::Share{100'000};
  tasks::Gate size = make_tests_gate("size", {});
  size.kind = tasks::GateKind::diff;
  size.max_lines = 2000;
  size.forbid = {"*.so", "*.a"};
  policy.gates = {make_tests_gate("tests", {"test"}), make_tests_gate("judged", {"judge"}), speed,
                  size};
  return policy;
}

ScriptedTask::ScriptedTask(tasks::Policy chosen) : policy(std::move(chosen)) {
  evidence.instance = "0a1b2c3d";
  evidence.task = "t_1";
  evidence.attempt = "a_1";
  evidence.fence = 1;
  evidence.change.diff.files = {{'M', "src/ring.cc", "src/ring.cc", 3, 1, false}};
}

Script& ScriptedTask::on(Side of, const std::string& step) {
  const auto [place, is_new] = scripts_.try_emplace({of, step});
  if (is_new) place->second.cases = passing({"A.Ok"});
  return place->second;
}

void ScriptedTask::everywhere(const std::string& step, const Script& script) {
  for (const Side of : {Side::base, Side::change, Side::mixed}) on(of, step) = script;
}

void ScriptedTask::touch_guarded() {
  const auto tree = tasks::TreeId::parse("0123456789012345678901234567890123456789");
  os::check(tree.has_value(), "a tree id");
  evidence.change.mixed_tree = *tree;
  evidence.change.guarded = {"tests/ring_test.cc"};
}

tasks::RunRecord ScriptedTask::make_record(const RunKey& key) {
  const Script& script = on(key.of, key.step.str());
  const tasks::Step* const step = policy.find_step(key.step);
  os::check(step != nullptr, "next asked for an unknown step");
  tasks::RunRecord record;
  record.key = key;
  record.id = fmt::format("r{:04}", evidence.runs.size() + 1);
  record.outcome = script.outcome;
  record.usage = script.usage_of ? script.usage_of(key) : script.usage;
  if (step->from_base) record.seed = "5eed";
  for (const tasks::ReportSpec& spec : step->reports) {
    if (!script.has_report_record) break;
    tasks::ReportRecord report;
    report.format = spec.format;
    report.path = spec.path;
    report.error = script.report_error;
    report.parsed.format = spec.format;
    if (report.error.empty() && spec.format == tasks::ReportFormat::google_benchmark) {
      report.parsed.bench.rows =
          script.rows ? script.rows(key.pair.value_or(0)) : bench_rows("BM_A", 1'000'000);
    } else if (report.error.empty()) {
      report.parsed.tests.cases = script.cases_of ? script.cases_of(key) : script.cases;
    }
    record.reports.push_back(std::move(report));
  }
  for (const auto& [name, path] : step->outputs) {
    tasks::OutputRecord output;
    output.name = name;
    output.sha256 = script.digest ? script.digest(key) : "same";
    if (script.missing_outputs.contains(name)) output.error = "missing";
    record.outputs.push_back(std::move(output));
  }
  return record;
}

void ScriptedTask::add(const RunKey& key) {
  const std::string side = key.side == Side::judge
                               ? fmt::format("judge({})", tasks::side_name(key.of))
                               : std::string(tasks::side_name(key.side));
  std::string text = key.step.str();
  if (key.pair) text += fmt::format(" pair {}", *key.pair);
  if (key.leg) text += fmt::format(" leg {}", *key.leg);
  if (key.rerun) text += fmt::format(" rerun {}", *key.rerun);
  trace.push_back(text + " " + side);
  evidence.runs.push_back(make_record(key));
}

tasks::Comparison ScriptedTask::compared(const tasks::ComparisonKey& key) const {
  if (compare) return compare(key);
  tasks::Comparison comparison;
  comparison.first = tasks::Divergence{"value", 0, "", "", "7", "8", "differs"};
  return comparison;
}

// As an attempt does; the order of the four is not random here.
void ScriptedTask::measure(const gates::NextPair& pair) {
  const tasks::MeasuredSteps around = tasks::measured_steps(policy, pair.step);
  for (const tasks::StepName& step : around.before)
    add(tasks::judge_key(step, pair.other, pair.pair));
  bool is_sound = true;
  for (const Side side : {Side::base, pair.other}) {
    for (const int leg : {0, 1}) {
      add(tasks::leg_key(pair.step, side, pair.pair, leg));
      is_sound = is_sound && evidence.runs.back().outcome.is_success();
    }
  }
  if (!is_sound) return;
  for (const tasks::StepName& step : around.after)
    add(tasks::judge_key(step, pair.other, pair.pair));
}

void ScriptedTask::run() {
  constexpr int kMostRuns = 1000;
  for (int i = 0; i < kMostRuns; ++i) {
    const gates::Next next = gates::next(policy, evidence);
    if (const auto* const one = std::get_if<gates::NextRun>(&next)) {
      os::check(evidence.find(one->key) == nullptr, "next asked twice for the same run");
      // A step that interacts runs with it.
      const tasks::Step* const partner = policy.find_partner(*policy.find_step(one->key.step));
      if (partner != nullptr) add(RunKey{one->key.of, one->key.of, partner->name, std::nullopt});
      add(one->key);
    } else if (const auto* const pair = std::get_if<gates::NextPair>(&next);
               pair != nullptr && pair->clock != tasks::GateClock::report) {
      measure(*pair);
    } else if (pair != nullptr) {
      add(RunKey{Side::base, Side::base, pair->step, pair->pair, pair->variant});
      add(RunKey{pair->other, pair->other, pair->step, pair->pair, pair->variant});
    } else if (const auto* const comparison = std::get_if<gates::NextCompare>(&next)) {
      trace.push_back("compare " + comparison->key.output);
      evidence.comparisons.push_back({comparison->key, compared(comparison->key)});
    } else {
      return;
    }
  }
  os::check(false, "next does not come to an end");
}

gates::Judgement ScriptedTask::judge() {
  run();
  return gates::judge(policy, evidence);
}

const gates::GateResult& gate_of(const gates::Judgement& judgement, const std::string& name) {
  const auto found =
      std::ranges::find(judgement.gates, tasks::GateName(name), &gates::GateResult::name);
  os::check(found != judgement.gates.end(), "no such gate in the judgement");
  return *found;
}

}  // namespace tests
