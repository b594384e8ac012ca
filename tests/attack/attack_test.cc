#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/attack/attack_fixture.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

using sandbox::Layer;

std::vector<Layer> all_layers() {
  std::vector<Layer> layers;
  for (const auto& [layer, name] : sandbox::kLayers) layers.push_back(layer);
  return layers;
}

bool has_reached(const std::string& answer) { return answer.starts_with("REACHED"); }

// Several right answers are written with | between them.
bool is_expected_answer(const Row& row, const std::string& answer) {
  std::istringstream all(row.expected);
  for (std::string one; std::getline(all, one, '|');)
    if (one == answer) return true;
  return false;
}

// CPUs that are there but not given are what some rows reach for.
bool is_playable(const Row& row) {
  return row.id != "X7.affinity" || sandbox::available_cpus().size() > 1;
}

std::string sole_guards(const Row& row) {
  std::string text;
  for (const auto& set : row.guards)
    if (set.size() == 1) text += (text.empty() ? "" : " ") + layer_names(set);
  return text.empty() ? "-" : text;
}

std::string backup_guards(const Row& row) {
  std::string text;
  for (const auto& set : row.guards)
    if (set.size() > 1) text += (text.empty() ? "" : " | ") + layer_names(set);
  return text.empty() ? "-" : text;
}

// One line of the table that `./dev test -L attack` prints.
void record(const Row& row, const std::string& answer) {
  std::filesystem::create_directories(PROOFHOUSE_ATTACK_TABLE);
  std::ofstream line(std::filesystem::path(PROOFHOUSE_ATTACK_TABLE) / row.id);
  line << row.id << '\t' << row.tries << '\t' << row.expected << '\t' << answer << '\t'
       << sole_guards(row) << '\t' << backup_guards(row) << '\n';
}

std::string test_name(std::string text) {
  for (char& letter : text)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return text;
}

// ---- each row against the jail that is shipped, all the switches of the other one thrown ----

class AttackRow : public AttackTest, public ::testing::WithParamInterface<Row> {};

TEST_P(AttackRow, IsHeldAndLeavesNothing) {
  const Row& row = GetParam();
  if (!is_playable(row)) GTEST_SKIP() << "one CPU is all there is";
  const Inventory before = take_inventory(scope());
  start_jail(JailKind::shipped, layer_names(all_layers()));
  const std::string answer = play(row);
  record(row, answer);
  EXPECT_TRUE(is_expected_answer(row, answer))
      << row.tries << "\n  expected: " << row.expected << "\n  got:      " << answer;
  if (client == nullptr) start_jail(JailKind::shipped, "");
  EXPECT_TRUE(run("next", "true").outcome.is_success()) << "the next command has to be unaffected";
  EXPECT_TRUE(end().is_success());
  std::string changed;
  for (int round = 0; round < 100; ++round) {
    changed = difference(before, take_inventory(scope()));
    if (changed.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_EQ(changed, "");
}

INSTANTIATE_TEST_SUITE_P(Rows, AttackRow, ::testing::ValuesIn(all_rows()),
                         [](const auto& row) { return test_name(row.param.id); });

// ---- each set of guards: without it its rows are lost, with any one of it they are held ----

std::vector<std::string> guard_sets() {
  std::set<std::string> sets;
  for (const Row& row : all_rows())
    for (const auto& set : row.guards) sets.insert(layer_names(set));
  return {sets.begin(), sets.end()};
}

std::vector<Row> rows_of(const std::string& set) {
  std::vector<Row> rows;
  for (const Row& row : all_rows())
    for (const auto& guards : row.guards)
      if (layer_names(guards) == set && is_playable(row)) rows.push_back(row);
  return rows;
}

std::vector<Layer> layers_of(const std::string& names) {
  std::vector<Layer> layers;
  std::istringstream all(names);
  for (std::string name; std::getline(all, name, ',');)
    layers.push_back(std::ranges::find(sandbox::kLayers, name, [](const auto& entry) {
                       return entry.second;
                     })->first);
  return layers;
}

class AttackLayers : public AttackTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(AttackLayers, AreNeeded) {
  const std::vector<Row> rows = rows_of(GetParam());
  if (rows.empty()) GTEST_SKIP() << "one CPU is all there is";
  start_jail(JailKind::ablated, GetParam());
  for (const Row& row : rows) {
    const std::string answer = play(row);
    EXPECT_TRUE(has_reached(answer))
        << row.id << " is held without " << GetParam() << ": " << answer;
  }
  const std::vector<Layer> guards = layers_of(GetParam());
  if (guards.size() == 1) return;
  for (const Layer kept : guards) {
    std::vector<Layer> others = guards;
    std::erase(others, kept);
    start_jail(JailKind::ablated, layer_names(others));
    for (const Row& row : rows) {
      const std::string answer = play(row);
      EXPECT_FALSE(has_reached(answer))
          << row.id << ": " << layer_names({kept}) << " alone should hold it: " << answer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Guards, AttackLayers, ::testing::ValuesIn(guard_sets()),
                         [](const auto& set) { return test_name(set.param); });

// ---- the suite itself ----

TEST(AttackSuite, HasARowForEveryLayer) {
  std::set<Layer> guarding;
  for (const Row& row : all_rows())
    for (const auto& set : row.guards) guarding.insert(set.begin(), set.end());
  for (const auto& [layer, name] : sandbox::kLayers)
    EXPECT_TRUE(guarding.contains(layer)) << name << " guards nothing";
}

TEST(AttackSuite, CoversTheThreatList) {
  const std::vector<Row> rows = all_rows();
  EXPECT_GE(rows.size(), 60U);
  std::set<std::string> ids;
  std::set<std::string> groups;
  for (const Row& row : rows) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id << " stands twice";
    groups.insert(row.id.substr(0, row.id.find('.')));
  }
  for (const char* const group :
       {"E1", "E2", "E3", "E4", "E5", "E6", "E9", "E11", "E13", "E14", "R1", "R2", "R4",
        "R7", "X1", "X2", "X3", "X4", "X5", "X7", "X8",  "X9",  "S1",  "S3", "S4", "U1"})
    EXPECT_TRUE(groups.contains(group)) << group;
}

TEST(AttackSuite, SwitchIsNotInTheJailThatIsShipped) {
  REQUIRE_BUILT(program_path("jail"));
  std::ifstream file(program_path("jail"), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_FALSE(bytes.str().contains("PROOFHOUSE_ABLATE"));
  std::ifstream other(PROOFHOUSE_JAIL_ABLATED, std::ios::binary);
  bytes.str("");
  bytes << other.rdbuf();
  EXPECT_TRUE(bytes.str().contains("PROOFHOUSE_ABLATE"));
}

}  // namespace
}  // namespace tests
