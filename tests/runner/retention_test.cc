// What goes from the data directory in time, and what stays.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runner/tree_folder.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using tests::House;

constexpr milliseconds kBudget{10'000};

tasks::TreeId tree_named(char digit) { return *tasks::TreeId::parse(std::string(40, digit)); }

class TreeFolderTest : public testing::Test {
 protected:
  void add(const std::string& name) {
    ASSERT_TRUE(os::make_directories(directory.path() + "/" + name + "/src").has_value());
  }
  bool has(const std::string& name) const {
    return ::access((directory.path() + "/" + name).c_str(), F_OK) == 0;
  }

  os::TempDir directory = *os::TempDir::create();
  TreeFolder folder{directory.path()};
};

TEST_F(TreeFolderTest, RemovesWhatNobodyNeedsOrUsed) {
  const std::string needed(40, 'a');
  const std::string unused(40, 'b');
  add(needed);
  add(unused);
  add("gone." + std::string(40, 'c'));
  add("something else");
  ASSERT_TRUE(folder.remove_unused(milliseconds(0), {needed}, kBudget).has_value());
  EXPECT_TRUE(has(needed));
  EXPECT_FALSE(has(unused));
  EXPECT_FALSE(has("gone." + std::string(40, 'c')));
  EXPECT_TRUE(has("something else"));
}

TEST_F(TreeFolderTest, KeepsTheYoungWhateverTimesTheyShow) {
  const std::string name(40, 'a');
  add(name);
  const timespec long_ago[2] = {{.tv_sec = 946'684'800, .tv_nsec = 0},
                                {.tv_sec = 946'684'800, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory.path() + "/" + name).c_str(), long_ago, 0), 0);
  ASSERT_TRUE(folder.remove_unused(hours(1), {}, kBudget).has_value());
  EXPECT_TRUE(has(name));
}

TEST_F(TreeFolderTest, WhatIsUsedIsYoungAgainAndLooksAsBefore) {
  const std::string name(40, 'a');
  add(name);
  const std::string path = directory.path() + "/" + name;
  struct stat before{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  ::usleep(300'000);
  ASSERT_TRUE(folder.use({tree_named('a')}).has_value());
  ASSERT_TRUE(folder.remove_unused(milliseconds(200), {}, kBudget).has_value());
  struct stat after{};
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  ::usleep(300'000);
  ASSERT_TRUE(folder.remove_unused(milliseconds(200), {}, kBudget).has_value());
  EXPECT_FALSE(has(name));
}

TEST_F(TreeFolderTest, SaysWhenATreeIsMissing) {
  const auto used = folder.use({tree_named('a')});
  ASSERT_FALSE(used.has_value());
  EXPECT_EQ(used.error().code, os::Code::not_found);
}

TEST_F(TreeFolderTest, BeginsNothingAfterItsBudget) {
  const std::string name(40, 'a');
  add(name);
  ASSERT_TRUE(folder.remove_unused(milliseconds(0), {}, milliseconds(0)).has_value());
  EXPECT_TRUE(has(name));
}

// Waits until `path` is gone; at most 20 s.
bool goes(const std::string& path) {
  for (int i = 0; i < 2000 && ::access(path.c_str(), F_OK) == 0; ++i) ::usleep(10'000);
  return ::access(path.c_str(), F_OK) != 0;
}

TEST(Retention, KeepsTheTreesOfLiveTasksOnly) {
  House house;
  const TaskView live = house.submit(house.submission());
  const TaskView waiting = house.wait_for(live.id, TaskState::awaiting_approval);
  const std::string unused =
      house.data + "/trees/" + std::string(40, 'f');  // the last that is looked at
  ASSERT_TRUE(os::make_directories(unused).has_value());
  house.config.retention.trees = milliseconds(0);
  house.restart();
  EXPECT_TRUE(goes(unused));
  for (const std::string& tree : {waiting.base_tree, waiting.candidate_tree})
    EXPECT_EQ(::access((house.data + "/trees/" + tree).c_str(), F_OK), 0) << tree;
}

TEST(Retention, FilesThatNoRowNamesGo) {
  House house;
  house.machine.keeps_layers = true;
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::awaiting_approval);
  const auto pack = house.core->store_pack(house.actor("author"), "sample", "PACK of nothing");
  ASSERT_TRUE(pack.has_value());
  const std::string pack_file = house.data + "/packs/" + *pack + ".pack";
  const std::vector<std::string> layers = *os::list_directory(house.data + "/layers");
  ASSERT_FALSE(layers.empty());
  const std::string lost_pack = house.data + "/packs/p_lost.pack";
  const std::string lost_layer = house.data + "/layers/" + std::string(64, 'f');
  ASSERT_TRUE(os::write_file_durably(lost_pack, "PACK").has_value());
  ASSERT_TRUE(os::make_directories(lost_layer).has_value());
  house.config.retention.attempts = milliseconds(0);
  house.restart();
  EXPECT_TRUE(goes(lost_pack));
  EXPECT_TRUE(goes(lost_layer));
  EXPECT_EQ(::access(pack_file.c_str(), F_OK), 0);
  for (const std::string& layer : layers)
    EXPECT_EQ(::access((house.data + "/layers/" + layer).c_str(), F_OK), 0) << layer;
}

}  // namespace
}  // namespace runner
