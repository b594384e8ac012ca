#include "gates/diff_gate.h"

#include <gtest/gtest.h>

namespace {

using gates::GateStatus;

tasks::Gate gate_with(std::optional<std::int64_t> lines, std::optional<std::int64_t> files,
                      std::vector<std::string> forbid) {
  tasks::Gate gate;
  gate.name = tasks::GateName("size");
  gate.kind = tasks::GateKind::diff;
  gate.max_lines = lines;
  gate.max_files = files;
  gate.forbid = std::move(forbid);
  return gate;
}

tasks::Diff diff_of(std::vector<tasks::DiffFile> files) { return {std::move(files), {}}; }

TEST(DiffGate, CountsAddedAndRemovedLines) {
  const tasks::Diff diff = diff_of({{'M', "a", "a", 6, 4, false}, {'A', "b", "b", 1, 0, false}});
  EXPECT_EQ(gates::judge_diff(gate_with(11, {}, {}), diff).status, GateStatus::passed);
  const gates::GateResult failed = gates::judge_diff(gate_with(10, {}, {}), diff);
  EXPECT_EQ(failed.status, GateStatus::failed);
  EXPECT_EQ(failed.failure, gates::FailureClass::diff);
  EXPECT_EQ(failed.reasons.at(0).text, "the change touches 11 lines, at most 10 may be");
  EXPECT_EQ(failed.reasons.at(0).figures.at("figure"), 11);
}

TEST(DiffGate, CountsFiles) {
  const tasks::Diff diff = diff_of({{'M', "a", "a", 1, 0, false}, {'M', "b", "b", 1, 0, false}});
  EXPECT_EQ(gates::judge_diff(gate_with({}, 2, {}), diff).status, GateStatus::passed);
  EXPECT_EQ(gates::judge_diff(gate_with({}, 1, {}), diff).status, GateStatus::failed);
}

TEST(DiffGate, ForbidsAFileByItsNameInAnyFolder) {
  const tasks::Gate gate = gate_with({}, {}, {"*.so"});
  const tasks::Diff deep = diff_of({{'A', "third/party/x.so", "third/party/x.so", 0, 0, true}});
  const gates::GateResult failed = gates::judge_diff(gate, deep);
  EXPECT_EQ(failed.status, GateStatus::failed);
  EXPECT_EQ(failed.reasons.at(0).where, "third/party/x.so");
  const tasks::Diff other = diff_of({{'A', "x.so.txt", "x.so.txt", 1, 0, false}});
  EXPECT_EQ(gates::judge_diff(gate, other).status, GateStatus::passed);
}

TEST(DiffGate, ForbidsOldAndNewPathOfARename) {
  const tasks::Gate gate = gate_with({}, {}, {"secret/**"});
  const tasks::Diff out = diff_of({{'R', "src/a.cc", "secret/a.cc", 0, 0, false}});
  EXPECT_EQ(gates::judge_diff(gate, out).reasons.at(0).where, "secret/a.cc");
  const tasks::Diff in = diff_of({{'R', "secret/a.cc", "src/a.cc", 0, 0, false}});
  EXPECT_EQ(gates::judge_diff(gate, in).reasons.at(0).where, "secret/a.cc");
}

TEST(DiffGate, LetsAForbiddenFileBeDeleted) {
  const tasks::Diff gone = diff_of({{'D', "lib/x.so", "lib/x.so", 0, 0, true}});
  EXPECT_EQ(gates::judge_diff(gate_with({}, {}, {"*.so"}), gone).status, GateStatus::passed);
}

TEST(DiffGate, NamesAtMostAHundredFilesAndSaysHowManyItLeftOut) {
  std::vector<tasks::DiffFile> files;
  for (int i = 0; i < 150; ++i) {
    const std::string path = "f" + std::to_string(i) + ".so";
    files.push_back({'A', path, path, 0, 0, true});
  }
  const gates::GateResult failed =
      gates::judge_diff(gate_with({}, {}, {"*.so"}), diff_of(std::move(files)));
  ASSERT_EQ(failed.reasons.size(), 100U);
  EXPECT_EQ(failed.reasons.back().text, "and 51 more");
}

}  // namespace
