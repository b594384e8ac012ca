// What a page costs: time of the server and weight, for a change with a diff of 500 lines and plots
// of 48 pairs. Over the real service, database and session check; only the jails are scripted.
#include <fstream>
#include <map>
#include <string>

#include <benchmark/benchmark.h>

#include "tasks/git.h"
#include "tests/runner/visitor.h"

namespace tests {
namespace {

constexpr const char* kPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, total: 10m}
steps:
  test: {run: "true", report: {gtest-json: report.json}}
  bench: {run: "true", report: {google-benchmark: bench.json}}
gates:
  tests: {kind: tests, steps: [test]}
  speed: {kind: benchmark, step: bench, tolerance: 5%, inconclusive: pass}
promotion: {approvals: 1}
)";

// A task that waits for its decision, made once.
struct Place {
  Place() {
    // Undecided until the last look, so that all 48 pairs are there.
    house.machine.script = [](ScriptedTask& scripted) {
      Script bench;
      bench.rows = [](int pair) {
        std::vector<tasks::BenchRow> rows;
        for (const char* name : {"BM_A", "BM_B", "BM_C", "BM_D"})
          for (const tasks::BenchRow& row : bench_rows(name, 1'000'000 + pair % 7 * 30'000))
            rows.push_back(row);
        return rows;
      };
      scripted.on(tasks::Side::base, "bench") = bench;
      bench.rows = [](int pair) {
        std::vector<tasks::BenchRow> rows;
        for (const char* name : {"BM_A", "BM_B", "BM_C", "BM_D"})
          for (const tasks::BenchRow& row : bench_rows(name, 1'030'000 + pair * 5 % 11 * 20'000))
            rows.push_back(row);
        return rows;
      };
      scripted.on(tasks::Side::change, "bench") = bench;
    };
    runner::ProjectSpec spec;
    spec.name = "measured";
    spec.repository = house.repository.path();
    spec.policy_yaml = kPolicy;
    const auto added = house.core->add_project(house.actor("admin"), spec);
    os::check(added.has_value(), "the project is added");
    for (const auto& [name, role] :
         {std::pair{"author", runner::Role::agent}, std::pair{"carol", runner::Role::owner}})
      os::check(house.core
                    ->grant(house.actor("admin"),
                            {.principal = name, .project = "measured", .role = role})
                    .has_value(),
                "a grant");
    std::string text;
    for (int line = 0; line < 500; ++line)
      text += "  const std::size_t value_" + std::to_string(line) + " = compute(" +
              std::to_string(line * 7919 % 1000) + ", options);\n";
    runner::Submission submission = house.submission("src/a.txt", text);
    submission.project = "measured";
    task = house.wait_for(house.submit(submission).id, runner::TaskState::awaiting_approval);
    os::check(task.state == runner::TaskState::awaiting_approval, "the task waits");
    os::check(visitor.log_in(code_of(house, "carol")).status == 303, "carol is logged in");
  }
  House house;
  Visitor visitor{house};
  runner::TaskView task;
};

Place& place() {
  static Place only;
  return only;
}

void render(benchmark::State& state, const std::string& path, const Fields& query) {
  std::string body;
  for (auto _ : state) {
    runner::HttpResponse response = place().visitor.get(path, query);
    os::check(response.status == 200, "a page");
    body = std::move(response.body);
  }
  const std::string file = place().house.directory / "page.html";
  std::ofstream(file) << body;
  state.counters["bytes"] = static_cast<double>(body.size());
  state.counters["gzipped"] = std::stod(shell("gzip -6 -c " + file + " | wc -c"));
}

void BM_Queue(benchmark::State& state) { render(state, "/tasks", {}); }
void BM_Verdict(benchmark::State& state) { render(state, "/tasks/" + place().task.id, {}); }
void BM_DiffUnified(benchmark::State& state) {
  render(state, "/tasks/" + place().task.id + "/diff", {});
}
void BM_DiffSplit(benchmark::State& state) {
  render(state, "/tasks/" + place().task.id + "/diff", {{"view", "split"}});
}

// Ten repetitions, so that a median stands beside the mean.
BENCHMARK(BM_Queue)->Unit(benchmark::kMillisecond)->Repetitions(10)->ReportAggregatesOnly();
BENCHMARK(BM_Verdict)->Unit(benchmark::kMillisecond)->Repetitions(10)->ReportAggregatesOnly();
BENCHMARK(BM_DiffUnified)->Unit(benchmark::kMillisecond)->Repetitions(10)->ReportAggregatesOnly();
BENCHMARK(BM_DiffSplit)->Unit(benchmark::kMillisecond)->Repetitions(10)->ReportAggregatesOnly();

}  // namespace
}  // namespace tests

int main(int count, char** arguments) {
  const auto session = tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) return 2;
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
