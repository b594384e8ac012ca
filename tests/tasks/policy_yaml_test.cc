// The policy file: what is read, every default, and each thing that is refused, with its place.

#include "tasks/policy_yaml.h"

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tasks/policy_json.h"
#include "tests/support/expect.h"
#include "tests/support/programs.h"

namespace tasks {
namespace {

using std::chrono::minutes;

std::string problems_of(std::string_view yaml) {
  const PolicyReading reading = read_policy(yaml);
  EXPECT_NE(reading.policy.has_value(), !reading.problems.empty());
  return format_problems("p", reading.problems);
}

// A right policy whose parts a test replaces.
struct Parts {
  std::string head = "version: 1\n";
  std::string steps =
      "steps:\n"
      "  build: {run: make}\n"
      "  test: {needs: [build], run: t, report: {tap: t.tap}}\n"
      "  bench: {needs: [build], run: b, report: {google-benchmark: b.json}}\n"
      "  gen: {from: base, run: g, outputs: {in: in/, expected: expected/}}\n"
      "  work: {needs: [build, gen.in], run: w, outputs: {out: out/}}\n"
      "  judge: {from: base, needs: [gen.expected, work.out], run: j, report: {tap: j.tap}}\n";
  std::string gates =
      "gates:\n"
      "  tests: {kind: tests, steps: [test, judge]}\n"
      "  speed: {kind: benchmark, step: bench}\n";
  std::string tail;
  std::string text() const { return head + steps + gates + tail; }
};

std::string with_step(const std::string& step) {
  Parts parts;
  parts.steps += "  extra: " + step + "\n";
  return problems_of(parts.text());
}

std::string with_gate(const std::string& gate) {
  Parts parts;
  parts.gates += "  extra: " + gate + "\n";
  return problems_of(parts.text());
}

std::string with_head(const std::string& line) {
  Parts parts;
  parts.head += line + "\n";
  return problems_of(parts.text());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PolicyYaml, ReadsTheSampleProjects) {
  for (const char* const name : {"mathkit", "cuda_softmax"}) {
    const auto path = tests::source_dir() / "tests/examples" / name / "proofhouse.yaml";
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(problems_of(read_file(path)), "") << name;
  }
}

TEST(PolicyYaml, ReadsAPolicyOfEveryKindOfStep) {
  EXPECT_EQ(problems_of(R"(version: 1
environment: host   # the machine's toolchain
subject: [src/**, include/**, docs/**]
owners:  {proofhouse.yaml: 2, "**": 1}
limits:  {cpus: 2, memory: 2GiB, disk: 2GiB, wall: 10m, idle: 5m, total: 40m}
steps:
  build: {run: cmake -S . -B build -G Ninja && cmake --build build}
  test:  {needs: [build], run: "build/tests", report: {gtest-json: report.json}}
  bench: {needs: [build], run: "build/bench --benchmark_out=bench.json",
          report: {google-benchmark: bench.json}}
  gen:   {from: base, run: "checks/gen.py $PROOFHOUSE_SEED",
          outputs: {in: in/, expected: expected/}}
  work:  {needs: [build, gen.in], run: "build/harness /needs/gen.in out", outputs: {out: out/}}
  judge: {from: base, needs: [gen.expected, work.out], run: "checks/cmp.py",
          report: {tap: judge.tap}}
gates:
  tests:  {kind: tests, steps: [test]}                                    # in-process
  judged: {kind: tests, steps: [judge]}                                   # sealed
  speed:  {kind: benchmark, step: bench, tolerance: 10%, inconclusive: ask}
  size:   {kind: diff, max_lines: 2000, forbid: ["*.so", "*.a"]}
promotion: {approvals: 1, strategy: rebase, approval: clean-rebase}
)"),
            "");
}

TEST(PolicyYaml, ReadsWhatMayBeOverriddenAndKept) {
  Parts parts;
  parts.tail = "promotion: {override: owners, notes: true}\n";
  const PolicyReading reading = read_policy(parts.text());
  ASSERT_TRUE(reading.policy.has_value());
  EXPECT_TRUE(reading.policy->promotion.override_owners);
  EXPECT_TRUE(reading.policy->promotion.notes);
  const std::string json = policy_to_json(*reading.policy);
  EXPECT_EQ(policy_from_json(json).value_or(Policy{}), *reading.policy);
  EXPECT_SAYS(with_head("promotion: {override: reviewers}"), "owners");
}

TEST(PolicyYaml, ReadsEveryField) {
  const PolicyReading reading = read_policy(R"(version: 1
environment: host
subject: [src/**, docs/**]
owners: {proofhouse.yaml: 2, "**": 1}
limits: {cpus: 2, memory: 2GiB, disk: 1GiB, wall: 10m, idle: 5m, total: 40m, pids: 99, files: 64,
         shm: 8MiB, keep: 64KiB, output: 1MiB, cpu_time: 90s, inodes: 500}
steps:
  build: {run: make, environment: {CC: gcc, EMPTY: ""}}
  test:
    needs: [build]
    run: |
      ./t
    report: {gtest-json: [a.json, b.json], tap: t.tap}
    limits: {memory: 4GiB}
    gpu: {count: 1, min_memory: 20GiB}
    exclusive: true
gates:
  tests: {kind: tests, steps: [test], always: true, reruns: 3}
  size: {kind: diff, max_lines: 2000, max_files: 7, forbid: ["*.so"]}
promotion: {approvals: 0, strategy: rebase, approval: exact, assurance: sealed, self: owner}
)");
  ASSERT_EQ(format_problems("p", reading.problems), "");
  const Policy& policy = *reading.policy;
  EXPECT_EQ(policy.subject, (std::vector<std::string>{"src/**", "docs/**"}));
  EXPECT_EQ(policy.owners.at("proofhouse.yaml"), 2);
  EXPECT_EQ(policy.limits.cpus, 2);
  EXPECT_EQ(policy.limits.cpu_time, std::chrono::seconds(90));
  EXPECT_EQ(policy.total, minutes(40));
  const Step& test = *policy.find_step(StepName("test"));
  EXPECT_EQ(test.run, "./t\n");
  EXPECT_EQ(test.reports.size(), 3U);
  EXPECT_EQ(test.limits.memory, os::Bytes{4ULL << 30U});
  EXPECT_EQ(test.limits.pids, 99);
  EXPECT_TRUE(test.gpu && test.gpu->exclusive);
  EXPECT_EQ(policy.find_step(StepName("build"))->environment.at("EMPTY"), "");
  EXPECT_TRUE(policy.find_gate(GateName("tests"))->always);
  EXPECT_EQ(policy.find_gate(GateName("tests"))->reruns, 3);
  EXPECT_EQ(policy.find_gate(GateName("size"))->max_files, 7);
  EXPECT_EQ(policy.promotion.assurance, Assurance::sealed);
  EXPECT_TRUE(policy.promotion.self_owner);
}

TEST(PolicyYaml, HasADefaultForEveryField) {
  const PolicyReading reading = read_policy(Parts{}.text());
  ASSERT_TRUE(reading.policy) << format_problems("p", reading.problems);
  const Policy& policy = *reading.policy;
  EXPECT_EQ(policy.limits, sandbox::Limits{});
  EXPECT_EQ(policy.total, minutes(60));
  EXPECT_EQ(policy.environment, "host");
  EXPECT_TRUE(policy.subject.empty());
  EXPECT_EQ(policy.promotion, Promotion{});
  EXPECT_EQ(policy.find_gate(GateName("speed"))->tolerance.millionths, 50'000);
  EXPECT_EQ(policy.find_gate(GateName("speed"))->inconclusive, Inconclusive::ask);
}

TEST(PolicyYaml, TakesDiskFromMemoryWhereMemoryIsLess) {
  Parts parts;
  parts.head += "limits: {memory: 512MiB}\n";
  const PolicyReading reading = read_policy(parts.text());
  ASSERT_TRUE(reading.policy) << format_problems("p", reading.problems);
  EXPECT_EQ(reading.policy->limits.disk, os::Bytes{512ULL << 20U});
}

TEST(PolicyYaml, RefusesUnknownKeysWithPlaceAndSuggestion) {
  EXPECT_EQ(problems_of("version: 1\nstepz: {}\n"),
            "p:1:1: key 'steps' is missing: a policy has at least one step\n"
            "p:1:1: key 'gates' is missing: without a gate nothing would be judged\n"
            "p:2:1: unknown key 'stepz' in the policy; did you mean 'steps'? allowed: version, "
            "environment, subject, owners, limits, steps, gates, promotion\n");
  EXPECT_SAYS(problems_of("version: 1\n  \nstepz: {}\n"), "p:3:1: unknown key 'stepz'");
  EXPECT_SAYS(problems_of("version: 1\nstepz: {}\n"), "did you mean 'steps'?");
  EXPECT_SAYS(with_step("{run: x, need: [build]}"), "did you mean 'needs'?");
  EXPECT_SAYS(with_head("limits: {memry: 1GiB}"), "p:2:10: unknown key 'memry' in limits");
  EXPECT_SAYS(with_gate("{kind: diff, max_lines: 1, step: x}"), "unknown key 'step' in gate");
  EXPECT_SAYS(with_step("{run: x, limits: {total: 5m}}"), "unknown key 'total'");
}

TEST(PolicyYaml, RefusesByNameWhatIsNotSupportedYet) {
  EXPECT_SAYS(with_gate("{kind: holdout}"), "'holdout' is not supported yet");
  EXPECT_SAYS(with_head("environment: ubuntu"), "environment 'ubuntu' is not supported yet");
  EXPECT_SAYS(with_head("promotion: {strategy: squash}"), "'squash' is not supported yet");
  EXPECT_SAYS(with_head("promotion: {strategy: merge}"), "'merge' is not supported yet");
  EXPECT_SAYS(with_head("promotion: {reverify: tests}"), "'reverify' is not supported yet");
  EXPECT_SAYS(with_step("{run: x, report: {junit: a.xml}}"), "'junit' is not supported yet");
}

// The judge of an outside clock and of an interaction, with one step each as given.
std::string sealed_policy(const std::string& work, const std::string& judge,
                          const std::string& gate) {
  return "version: 1\nsteps:\n  build: {run: x}\n"
         "  gen: {from: base, run: x, outputs: {in: in/}}\n  work: " +
         work + "\n  judge: " + judge + "\ngates:\n  speed: " + gate + "\n";
}

constexpr const char* kWork =
    "{run: x, needs: [build, gen.in], outputs: {out: out/}, calls: [2, 6]}";
constexpr const char* kJudge = "{from: base, run: x, needs: [work.out], report: {tap: a.tap}}";
constexpr const char* kOutside = "{kind: benchmark, step: work, clock: outside-cpu}";

TEST(PolicyYaml, ReadsCallsAndAnOutsideClock) {
  const PolicyReading reading = read_policy(sealed_policy(kWork, kJudge, kOutside));
  ASSERT_TRUE(reading.policy) << format_problems("p", reading.problems);
  EXPECT_EQ(reading.policy->find_step(StepName("work"))->calls, (CallCounts{2, 6}));
  EXPECT_EQ(reading.policy->gates.front().clock, GateClock::outside_cpu);
}

TEST(PolicyYaml, RefusesAnOutsideClockThatMeasuresWhatNobodyChecks) {
  EXPECT_SAYS(problems_of(sealed_policy("{run: x, needs: [gen.in], outputs: {out: out/}}", kJudge,
                                        kOutside)),
              "needs 'calls: [n1, n2]' on step 'work'");
  EXPECT_SAYS(problems_of(sealed_policy(kWork, "{from: base, run: x}", kOutside)),
              "needs a judge of step 'work'");
  EXPECT_SAYS(
      problems_of(sealed_policy(kWork, "{from: base, run: x, needs: [work.out]}", kOutside)),
      "needs a judge of step 'work'");
  EXPECT_SAYS(with_step("{run: x, calls: [200, 300]}"), "at least twice the first, from 400 on");
  EXPECT_SAYS(with_step("{run: x, calls: [200]}"), "two counts");
  EXPECT_SAYS(with_step("{run: x, calls: 200}"), "calls is a list");
}

TEST(PolicyYaml, ReadsAStepThatInteractsAndItsJudge) {
  const PolicyReading reading =
      read_policy(sealed_policy("{run: x, needs: [build], interact: true}",
                                "{from: base, run: x, needs: [work], report: {tap: a.tap}}",
                                "{kind: tests, steps: [judge]}"));
  ASSERT_TRUE(reading.policy) << format_problems("p", reading.problems);
  const Policy& policy = *reading.policy;
  EXPECT_TRUE(policy.find_step(StepName("work"))->interact);
  EXPECT_EQ(policy.find_partner(*policy.find_step(StepName("judge"))),
            policy.find_step(StepName("work")));
}

TEST(PolicyYaml, LetsOneOfTwoJoinedStepsAskForGpus) {
  const auto problems = [](const std::string& work, const std::string& judge) {
    return problems_of(
        sealed_policy("{run: x, interact: true" + work + "}",
                      "{from: base, run: x, needs: [work], report: {tap: a.tap}" + judge + "}",
                      "{kind: tests, steps: [judge]}"));
  };
  const std::string gpu = ", gpu: {count: 1}";
  EXPECT_EQ(problems(gpu, ""), "");
  EXPECT_EQ(problems("", gpu), "");
  EXPECT_SAYS(problems(gpu, gpu), "only one may ask for GPUs");
}

TEST(PolicyYaml, RefusesInteractionsWithoutExactlyOneJudge) {
  const auto problems = [](const std::string& work, const std::string& judge) {
    return problems_of(sealed_policy(work, judge, "{kind: diff, max_lines: 1}"));
  };
  EXPECT_SAYS(problems("{run: x, interact: true}", "{from: base, run: x}"),
              "exactly one `from: base` step");
  EXPECT_SAYS(problems("{run: x, interact: true, outputs: {out: out/}}", kJudge),
              "only a `from: base` step needs it, without an output");
  EXPECT_SAYS(problems("{run: x, interact: true, calls: [1, 2]}", kJudge), "has no outputs");
  EXPECT_SAYS(problems("{from: base, run: x, interact: true}", kJudge), "a step of the change");
}

TEST(PolicyYaml, RefusesWhatMakesYamlAmbiguous) {
  EXPECT_SAYS(problems_of("version: 1\nversion: 1\n"), "p:2:1: key 'version' stands twice");
  EXPECT_SAYS(with_step("{run: x, run: y}"), "key 'run' stands twice");
  EXPECT_SAYS(with_head("subject: &all [src/**]"), "anchors");
  EXPECT_SAYS(problems_of("a: &x 1\nb: *x\n"), "p:2:4: aliases");
  EXPECT_SAYS(problems_of("a:\n  <<: {b: c}\n"), "p:2:3: merge keys");
  EXPECT_SAYS(problems_of(Parts{}.text() + "---\nversion: 1\n"), "one document");
  EXPECT_SAYS(with_head("environment: !!str host"), "tags");
  EXPECT_SAYS(problems_of("? [a, b]\n: c\n"), "a key is one word");
  EXPECT_SAYS(problems_of("a: [1\n"), "not valid YAML");
  EXPECT_SAYS(problems_of(""), "");
  EXPECT_FALSE(read_policy("").policy);
  EXPECT_FALSE(read_policy("just text").policy);
}

TEST(PolicyYaml, RefusesDeepAndLargeFiles) {
  std::string deep = "version: 1\nx: ";
  for (int i = 0; i < 17; ++i) deep += "[";
  for (int i = 0; i < 17; ++i) deep += "]";
  EXPECT_SAYS(problems_of(deep), "nesting is over 16 levels");
  EXPECT_FALSE(read_policy(std::string(200'000, '[')).policy);
  EXPECT_SAYS(problems_of("# " + std::string(300'000, 'x')), "at most 256 KiB");
}

TEST(PolicyYaml, RefusesBytesThatAreNoText) {
  EXPECT_SAYS(problems_of("version: 1\nx: \xFF\n"), "p:2:4: invalid UTF-8");
  EXPECT_SAYS(problems_of("version: 1\nx: a\x1B[31m\n"), "control characters");
  EXPECT_SAYS(problems_of("version: 1\nx: \"a\\x1B\"\n"), "p:2:4: control characters");
}

TEST(PolicyYaml, RefusesWrongUnitsAndRanges) {
  EXPECT_SAYS(with_head("limits: {memory: 2GB}"), "ambiguous");
  EXPECT_SAYS(with_head("limits: {memory: lots}"), "not a size");
  EXPECT_SAYS(with_head("limits: {memory: 1MiB}"), "memory is from 16MiB");
  EXPECT_SAYS(with_head("limits: {wall: 10}"), "not a duration");
  EXPECT_SAYS(with_head("limits: {wall: 0s}"), "wall is from");
  EXPECT_SAYS(with_head("limits: {cpus: 0}"), "from 1 to 1024");
  EXPECT_SAYS(with_head("limits: {cpus: 0x10}"), "from 1 to 1024");
  EXPECT_SAYS(with_head("limits: {cpus: 1.5}"), "from 1 to 1024");
  EXPECT_SAYS(with_head("limits: {cpus: [1]}"), "not a list");
  EXPECT_SAYS(with_head("limits: {cpus: }"), "not nothing");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, tolerance: 10}"), "not a percentage");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, tolerance: 0%}"), "from 0.1% to 100%");
  EXPECT_SAYS(with_gate("{kind: diff, max_lines: -1}"), "from 0 to");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [test], always: yes}"), "true or false");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [test], reruns: 21}"), "reruns");
  EXPECT_SAYS(with_head("promotion: {approvals: 11}"), "from 0 to 10");
  EXPECT_SAYS(with_head("owners: {\"**\": 0}"), "from 1 to 10");
  EXPECT_SAYS(problems_of("version: 2\n"), "version is 1");
  EXPECT_SAYS(problems_of("steps: {}\n"), "'version' is missing");
}

TEST(PolicyYaml, RefusesLimitsThatDoNotFit) {
  EXPECT_SAYS(with_head("limits: {memory: 1GiB, disk: 2GiB}"), "p:2:24: disk (2GiB) is more than");
  EXPECT_SAYS(with_head("limits: {memory: 1GiB, disk: 2GiB}"), "tmpfs");
  EXPECT_SAYS(with_step("{run: x, limits: {disk: 3GiB}}"), "disk (3GiB) is more than memory");
  EXPECT_SAYS(with_head("limits: {shm: 4GiB}"), "shm is more than memory");
  EXPECT_SAYS(with_head("limits: {keep: 8MiB, output: 1MiB}"), "keep is more than output");
  EXPECT_SAYS(with_head("limits: {wall: 2h}"), "more than the attempt's total");
}

TEST(PolicyYaml, RefusesWrongNeeds) {
  EXPECT_SAYS(with_step("{run: x, needs: [biuld]}"), "no step 'biuld'; did you mean 'build'?");
  EXPECT_SAYS(with_step("{run: x, needs: [extra]}"), "needs itself");
  EXPECT_SAYS(with_step("{run: x, needs: [gen]}"), "only its outputs can be needed");
  EXPECT_SAYS(with_step("{from: base, run: x, needs: [build]}"), "only its outputs can be needed");
  EXPECT_SAYS(with_step("{run: x, needs: [gen.inn]}"),
              "no output 'inn'; its outputs: expected, in");
  EXPECT_SAYS(with_step("{run: x, needs: [work.out]}"), "same workspace: write needs: [work]");
  EXPECT_SAYS(with_step("{run: x, needs: [gen.]}"), "names no output");
  EXPECT_SAYS(with_step("{run: x, needs: [build, build]}"), "stands twice");
  EXPECT_SAYS(with_step("{run: x, needs: build}"), "needs is a list");
}

TEST(PolicyYaml, RefusesACircleOfNeeds) {
  Parts parts;
  parts.steps +=
      "  a: {run: x, needs: [b]}\n"
      "  b: {run: x, needs: [c]}\n"
      "  c: {run: x, needs: [a]}\n";
  EXPECT_SAYS(problems_of(parts.text()), "needs form a circle: a → b → c → a");
}

TEST(PolicyYaml, RefusesWrongStepsAndPaths) {
  EXPECT_SAYS(problems_of("version: 1\nsteps: {}\n"), "at least one step");
  EXPECT_SAYS(with_step("{needs: [build]}"), "has no 'run'");
  EXPECT_SAYS(with_step("{run: \"\"}"), "run is empty");
  EXPECT_SAYS(with_step("make"), "is a map");
  EXPECT_SAYS(with_step("{run: x, from: change}"), "allowed: base");
  EXPECT_SAYS(with_step("{run: x, exclusive: true}"), "no 'gpu'");
  EXPECT_SAYS(with_step("{run: x, gpu: {count: 0}}"), "from 1 to 16");
  for (const char* const path : {"/abs", "../up", "a/../b", "a//b", "./a", "a/.", "dir/"})
    EXPECT_SAYS(with_step(std::string("{run: x, report: {tap: ") + path + "}}"), "a path below");
  EXPECT_SAYS(with_step("{run: x, outputs: {o: ../up}}"), "a path below");
  EXPECT_SAYS(with_step("{run: x, outputs: {a.b: x}}"), "no '.'");
  EXPECT_SAYS(with_step("{run: x, report: {tap: [a, a]}}"), "two reports have this path");
  EXPECT_SAYS(with_step("{run: x, environment: {HOME: /}}"), "set by the sandbox");
  EXPECT_SAYS(with_step("{run: x, environment: {PROOFHOUSE_SEED: 1}}"), "set by the sandbox");
  EXPECT_SAYS(with_step("{run: x, environment: {1A: b}}"), "a variable's name");
  Parts parts;
  parts.steps += "  a.b: {run: x}\n  \"A B\": {run: x}\n";
  EXPECT_SAYS(problems_of(parts.text()), "a step's name has no '.'");
  EXPECT_SAYS(problems_of(parts.text()), "step 'A B' is no name");
}

TEST(PolicyYaml, RefusesWrongGates) {
  EXPECT_SAYS(problems_of("version: 1\ngates: {}\n"), "at least one gate");
  EXPECT_SAYS(problems_of("version: 1\nsteps: {a: {run: x}}\n"), "'gates' is missing");
  EXPECT_SAYS(with_gate("{steps: [test]}"), "has no 'kind'");
  EXPECT_SAYS(with_gate("{kind: test, steps: [test]}"), "did you mean 'tests'?");
  EXPECT_SAYS(with_gate("{kind: tests}"), "needs 'steps'");
  EXPECT_SAYS(with_gate("{kind: tests, steps: []}"), "at least one step");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [tset]}"), "no step 'tset'");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [test, test]}"), "stands twice");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [build]}"), "needs a report of tests");
  EXPECT_SAYS(with_gate("{kind: tests, steps: [bench]}"), "needs a report of tests");
  Parts parts_of_figures;
  parts_of_figures.steps += "  figures: {needs: [build], run: f, report: {metrics: m.json}}\n";
  parts_of_figures.gates += "  g: {kind: tests, steps: [figures]}\n";
  EXPECT_SAYS(problems_of(parts_of_figures.text()), "needs a report of tests");
  EXPECT_SAYS(with_gate("{kind: benchmark}"), "needs 'step'");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: test}"), "needs a report of benchmarks");
  EXPECT_SAYS(with_gate("{kind: diff}"), "needs at least one of");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, inconclusive: maybe}"), "block, ask, pass");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, max_spread: 0%}"),
              "max_spread is from 0.1% to 100%");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, accept_mde: 1}"), "true or false");
  EXPECT_SAYS(with_gate("{kind: benchmark, step: bench, budget: 10}"), "budget");
}

TEST(PolicyYaml, ReadsGatesThatCompareOutputs) {
  Parts parts;
  parts.gates +=
      "  same: {kind: determinism, step: work, outputs: [out], runs: 3}\n"
      "  close: {kind: parity, step: work, outputs: {out/y.npy: {reference: base, rtol: 1e-3, "
      "atol: "
      "1e-5, types: {float16: {ulp: 4}}}, out/z.npy: {reference: gen.expected/z.npy}}}\n";
  const PolicyReading reading = read_policy(parts.text());
  ASSERT_TRUE(reading.policy) << format_problems("p", reading.problems);
  const Gate& same = *reading.policy->find_gate(GateName("same"));
  EXPECT_EQ(same.outputs, std::vector<std::string>{"out"});
  EXPECT_EQ(same.runs, 3);
  const Gate& close = *reading.policy->find_gate(GateName("close"));
  ASSERT_EQ(close.parity.size(), 2U);
  EXPECT_EQ(close.parity[0].path, "out/y.npy");
  EXPECT_EQ(close.parity[0].tolerance.rtol, "1e-3");
  EXPECT_EQ(close.parity[0].types.at("float16").ulp, 4);
  EXPECT_EQ(close.parity[1].reference, "gen.expected/z.npy");
  const os::Result<Policy> again = policy_from_json(policy_to_json(*reading.policy));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *reading.policy);
}

TEST(PolicyYaml, RefusesGatesThatCompareWhatIsNotThere) {
  const auto same = [](const std::string& fields) {
    return with_gate("{kind: determinism, " + fields + "}");
  };
  EXPECT_SAYS(same("outputs: [out]"), "needs 'step'");
  EXPECT_SAYS(same("step: work"), "needs 'outputs'");
  EXPECT_SAYS(same("step: work, outputs: [in]"), "has no output 'in'");
  EXPECT_SAYS(same("step: gen, outputs: [in]"), "what is compared is the change's");
  EXPECT_SAYS(same("step: build, outputs: [out]"), "it cannot run afresh");
  EXPECT_SAYS(same("step: work, outputs: [out], runs: 1"), "runs");
  const auto close = [](const std::string& output) {
    return with_gate("{kind: parity, step: work, outputs: {" + output + "}}");
  };
  EXPECT_SAYS(close("out: {reference: base}"), "names no file");
  EXPECT_SAYS(close("out/y.npy: {}"), "needs 'reference'");
  EXPECT_SAYS(close("out/y.npy: {reference: work.out/y.npy}"), "neither base nor step.output");
  EXPECT_SAYS(close("out/y.npy: {reference: gen.expected}"), "names no file");
  EXPECT_SAYS(close("out/y.npy: {reference: base, rtol: -1}"), "a number from 0");
  EXPECT_SAYS(close("out/y.npy: {reference: base, rtol: nan}"), "a number from 0");
  EXPECT_SAYS(close("out/y.npy: {reference: base, frobenius: 1e-3}"), "a norm hides one wrong row");
  EXPECT_SAYS(close("out/y.npy: {reference: base, types: {f16: {ulp: 1}}}"), "f16");
}

TEST(PolicyYaml, LetsABenchmarkGateCompareTheChangesStepsOnly) {
  Parts parts;
  parts.steps += "  b2: {from: base, run: x, report: {google-benchmark: b.json}}\n";
  parts.gates += "  g2: {kind: benchmark, step: b2}\n";
  EXPECT_SAYS(problems_of(parts.text()), "is from: base");
}

TEST(PolicyYaml, RefusesGlobsThatCouldNeverMatch) {
  EXPECT_SAYS(with_head("subject: [/src/**]"), "begins with '/'");
  EXPECT_SAYS(with_head("subject: [src/]"), "write 'src/**'");
  EXPECT_SAYS(with_head("subject: [\"!src/**\"]"), "negated");
  EXPECT_SAYS(with_head("subject: [\"a[bc]\"]"), "only '*', '**' and '?'");
  EXPECT_SAYS(with_head("subject: [\"\"]"), "is empty");
  EXPECT_SAYS(with_head("owners: {/src: 1}"), "begins with '/'");
}

TEST(PolicyYaml, LetsNothingLandWithoutAPersonAndWithoutAssurance) {
  EXPECT_SAYS(with_head("promotion: {approvals: 0}"), "p:2:13: approvals: 0 needs assurance");
  EXPECT_SAYS(with_head("promotion: {approvals: 0, assurance: in-process}"), "needs assurance");
  EXPECT_EQ(with_head("promotion: {approvals: 0, assurance: out-of-process}"), "");
}

TEST(PolicyYaml, CollectsProblemsInTheFilesOrderUpToFifty) {
  std::string text = "version: 1\n";
  for (int i = 0; i < 80; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const PolicyReading reading = read_policy(text);
  ASSERT_EQ(reading.problems.size(), 50U);
  EXPECT_LT(reading.problems.front().line, reading.problems.back().line);
}

// Any damage to a right file is read or refused; nothing crashes, and what is read comes back.
TEST(PolicyYaml, SurvivesMutations) {
  const std::string good = Parts{}.text() + "promotion: {approvals: 1}\nlimits: {cpus: 2}\n";
  const unsigned seed = 20'261'130;
  std::mt19937 random(seed);
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    for (auto edits = random() % 4 + 1; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(random() % 12 + 1, text.size() - at);
      switch (random() % 3) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = "{}[]:,-#&*!|>'\"%\n ?~\xFF"[random() % 22];
          break;
      }
    }
    const PolicyReading reading = read_policy(text);
    ASSERT_EQ(reading.policy.has_value(), reading.problems.empty()) << "seed " << seed;
    if (!reading.policy) continue;
    const os::Result<Policy> back = policy_from_json(policy_to_json(*reading.policy));
    ASSERT_TRUE(back && *back == *reading.policy) << "seed " << seed << ":\n" << text;
  }
}

}  // namespace
}  // namespace tasks
