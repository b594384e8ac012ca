#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gates/gate.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

// Evidence for tests of the gates: a scripted project whose runs are asked for by gates::next, as
// an attempt asks, and answered from the script.
namespace tests {

// What a run leaves behind. By default it exits with 0, with every declared output and, if the step
// declares reports, one with the cases or rows given here.
struct Script {
  sandbox::Outcome outcome = sandbox::Outcome::exited(0);
  std::vector<tasks::TestCase> cases;
  // Rows of a pair's run by its number; nothing: one row BM_A of 1 us.
  std::function<std::vector<tasks::BenchRow>(int pair)> rows;
  // Where set: instead of `cases` and `usage`, by the run.
  std::function<std::vector<tasks::TestCase>(const tasks::RunKey&)> cases_of = {};
  std::function<sandbox::Usage(const tasks::RunKey&)> usage_of = {};
  std::string report_error;               // of every report; not empty: unreadable
  bool has_report_record = true;          // false: the evidence has no record of it
  std::set<std::string> missing_outputs;  // declared outputs that are not there
  // SHA-256 of every declared output; nothing: the same in every run.
  std::function<std::string(const tasks::RunKey& key)> digest = {};
  sandbox::Usage usage{.wall_ms = 1000, .user_ms = 900, .sys_ms = 50};
};

// A passed case for each id.
std::vector<tasks::TestCase> passing(const std::vector<std::string>& ids);
// The same with one case of another status, with a message where it failed.
std::vector<tasks::TestCase> with_status(std::vector<tasks::TestCase> cases, const std::string& id,
                                         tasks::CaseStatus status);
std::vector<tasks::TestCase> without(std::vector<tasks::TestCase> cases, const std::string& id);

// `repetitions` rows of `name`, the least of them `picoseconds`; 10 ms of CPU time each.
std::vector<tasks::BenchRow> bench_rows(const std::string& name, std::int64_t picoseconds,
                                        int repetitions = 3);

// The policy of the sample in DESIGN.md §4: steps build, test, bench, gen, work, judge; gates
// tests, judged, speed (10%, ask), size.
tasks::Policy sample_policy();
tasks::Step make_step(const std::string& name, const std::vector<tasks::Need>& needs = {});
tasks::Gate make_tests_gate(const std::string& name, const std::vector<std::string>& steps);
tasks::Need need(const std::string& step, const std::string& output = {});

// One task on that policy. Steps that no script names succeed; steps with a report have the case
// "A.Ok" unless scripted.
class ScriptedTask {
 public:
  explicit ScriptedTask(tasks::Policy policy = sample_policy());

  tasks::Policy policy;
  tasks::Evidence evidence;  // what was run so far; fields may be set before run()
  // What the reader says of two outputs; nothing: they differ at the first byte.
  std::function<tasks::Comparison(const tasks::ComparisonKey& key)> compare;
  std::vector<std::string> trace;  // "build base", "gen judge(change)", "bench pair 0 change"

  // The script of the step where it judges or runs the code of `of`.
  Script& on(tasks::Side of, const std::string& step);
  // The script of the step on base, change and mixed.
  void everywhere(const std::string& step, const Script& script);
  // The change touches guarded files, so that there is a mixed tree.
  void touch_guarded();

  // Runs what gates::next asks for until it asks for nothing; at most 1000 runs.
  void run();
  // run(), then the judgement.
  gates::Judgement judge();
  // Adds the record of one run, as scripted.
  void add(const tasks::RunKey& key);

 private:
  tasks::RunRecord make_record(const tasks::RunKey& key);
  tasks::Comparison compared(const tasks::ComparisonKey& key) const;
  void measure(const gates::NextPair& pair);
  std::map<std::pair<tasks::Side, std::string>, Script> scripts_;
};

// The gate of that name.
const gates::GateResult& gate_of(const gates::Judgement& judgement, const std::string& name);

}  // namespace tests
