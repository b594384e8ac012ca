// The saboteurs of `policy prove` as texts, and what a proof says.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "runner/cli/exit_code.h"
#include "runner/cli/prove_report.h"
#include "runner/prove/saboteur.h"

namespace {

using runner::prove::Project;
using runner::prove::Saboteur;
using runner::prove::Target;

constexpr std::string_view kSource =
    "#include \"sum.h\"\nint unknown(int a) { return a; }\nint sum(int a, int b) { return a + b; "
    "}\n";
constexpr std::string_view kTests =
    "#include \"sum.h\"\n#include <gtest/gtest.h>\nTEST(Sum, Adds) { EXPECT_EQ(sum(1, 2), 3); }\n";

Project sample() {
  Project project;
  tasks::Step test;
  test.name = tasks::StepName("test");
  test.run = "build/tests";
  tasks::Step bench;
  bench.name = tasks::StepName("bench");
  bench.run = "build/bench --out=x";
  project.policy.steps = {test, bench};
  tasks::Gate gate;
  gate.name = tasks::GateName("tests");
  gate.steps = {test.name};
  project.policy.gates = {gate};
  const auto add = [&project](const std::string& path, std::string_view text, bool is_guarded) {
    project.files.push_back({path, std::string(text), is_guarded, tasks::source_language(path)});
  };
  add("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(sum CXX)\n", true);
  add("src/sum.cc", kSource, false);
  add("src/sum.h", "int sum(int a, int b);\n", false);
  add("tests/sum_test.cc", kTests, true);
  return project;
}

std::vector<Saboteur> saboteurs_of(const Project& project) {
  const std::vector<Target> targets = runner::prove::find_targets(project, 8);
  return runner::prove::make_saboteurs(project, targets.front(), targets,
                                       {{"report.xml", "<a b=\"c\"/>\n"}});
}

const Saboteur& named(const std::vector<Saboteur>& all, std::string_view name) {
  return *std::ranges::find(all, name, &Saboteur::name);
}

std::string edited(const Saboteur& saboteur, const std::string& path) {
  const auto found = saboteur.edits.find(path);
  return found == saboteur.edits.end() || !found->second ? "" : *found->second;
}

TEST(Saboteurs, BreakTheFunctionThatGuardedFilesMention) {
  const Project project = sample();
  const std::vector<Target> targets = runner::prove::find_targets(project, 8);
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(targets.front().function.name, "sum");
  EXPECT_TRUE(edited(runner::prove::broken_function(targets.front()), "src/sum.cc")
                  .contains("int sum(int a, int b) { return {}; return a + b; }"));
}

TEST(Saboteurs, EndEveryProgramButThoseThatOtherStepsStart) {
  const Project project = sample();
  const std::string text = edited(named(saboteurs_of(project), "early exit"), "src/sum.cc");
  EXPECT_TRUE(text.contains("names[] = {\"bench\", \"/\"}")) << text;
  EXPECT_TRUE(text.contains("_exit(0);")) << text;
}

TEST(Saboteurs, ForgeReportsWhateverBytesTheyHave) {
  const Project project = sample();
  const std::string text = edited(named(saboteurs_of(project), "forged report"), "src/sum.cc");
  EXPECT_TRUE(text.contains(R"("<a b=\042c\042/>\012")")) << text;
  EXPECT_TRUE(text.contains("\"/workspace/report.xml\"")) << text;
}

TEST(Saboteurs, ActOnTestsAndBuildFilesOfAKnownForm) {
  const Project project = sample();
  const std::vector<Saboteur> all = saboteurs_of(project);
  EXPECT_TRUE(edited(named(all, "skipped tests"), "tests/sum_test.cc")
                  .contains("TEST(Sum, Adds) { GTEST_SKIP(); EXPECT_EQ"));
  EXPECT_FALSE(named(all, "deleted test").edits.at("tests/sum_test.cc").has_value());
  EXPECT_TRUE(edited(named(all, "emptied checks"), "src/sum.h").contains("#undef EXPECT_EQ"));
  EXPECT_TRUE(edited(named(all, "build flags"), "CMakeLists.txt")
                  .contains("project(sum CXX)\nadd_compile_options(-include"));
}

TEST(Saboteurs, SayWhyThereIsNone) {
  Project project = sample();
  std::erase_if(project.files, [](const auto& file) { return file.path.starts_with("tests/"); });
  const std::vector<Saboteur> all = saboteurs_of(project);
  EXPECT_FALSE(named(all, "deleted test").inapplicable.empty());
  EXPECT_FALSE(named(all, "edited judge").inapplicable.empty());
  EXPECT_TRUE(named(all, "edited policy").inapplicable.empty());
}

TEST(Proof, NamesTheGateThatCaughtASaboteurAndHowFarItIsTrusted) {
  gates::Judgement judgement;
  judgement.verdict = gates::Verdict::rejected;
  judgement.reason.text = "Sum.Adds failed";
  gates::GateResult gate;
  gate.name = tasks::GateName("judged");
  gate.status = gates::GateStatus::failed;
  gate.assurance = tasks::Assurance::sealed;
  judgement.gates = {gate};
  const auto row = runner::cli::proof_row({}, {}, judgement);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->end, runner::cli::ProofEnd::caught);
  EXPECT_EQ(row->gate, "judged");
  EXPECT_EQ(row->assurance, "sealed");
}

TEST(Proof, CountsWhatOwnersMustSeeAsCaughtAndAnErrorAsNothing) {
  gates::Judgement judgement;
  judgement.verdict = gates::Verdict::accepted;
  tasks::IngestResult change;
  EXPECT_EQ(runner::cli::proof_row({}, change, judgement)->end, runner::cli::ProofEnd::passes);
  change.guarded = {"conftest.py"};
  EXPECT_EQ(runner::cli::proof_row({}, change, judgement)->gate, "owners");
  judgement.verdict = gates::Verdict::error;
  EXPECT_FALSE(runner::cli::proof_row({}, change, judgement).has_value());
}

TEST(Proof, EndsByTheWorstOfItsRows) {
  using runner::cli::ProofEnd;
  const auto code = [](const std::vector<ProofEnd>& ends) {
    runner::cli::Proof proof;
    for (const ProofEnd end : ends) {
      proof.rows.emplace_back();
      proof.rows.back().end = end;
    }
    return runner::cli::exit_code_of_proof(proof);
  };
  EXPECT_EQ(code({ProofEnd::caught, ProofEnd::not_applicable}), runner::cli::kExitOk);
  EXPECT_EQ(code({ProofEnd::caught, ProofEnd::unclear}), runner::cli::kExitInconclusive);
  EXPECT_EQ(code({ProofEnd::not_applicable}), runner::cli::kExitInconclusive);
  EXPECT_EQ(code({ProofEnd::unclear, ProofEnd::passes}), runner::cli::kExitRejected);
}

}  // namespace
