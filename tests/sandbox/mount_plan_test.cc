#include "sandbox/mount_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tests {
namespace {

using sandbox::check_mounts;
using sandbox::is_normal_path;
using sandbox::is_normal_relative_path;

constexpr const char* kRoot = "1 1 0:1 / / ro,nosuid,nodev - tmpfs tmpfs rw\n";

TEST(MountPlan, AcceptsMountsThatAreReadOnlyButForTheWritableOnes) {
  const std::string text = std::string(kRoot) +
                           "2 1 0:2 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw\n"
                           "3 1 0:3 / /proc rw,nosuid,nodev,noexec - proc proc rw\n"
                           "4 1 0:4 / /dev ro,nosuid,noexec - tmpfs tmpfs rw\n"
                           "5 3 0:4 /null /proc/keys ro,nosuid,noexec - tmpfs tmpfs rw\n"
                           "6 3 0:1 /var/empty /proc/bus ro,nosuid,nodev - tmpfs tmpfs rw\n"
                           "7 3 0:3 /sys /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n";
  EXPECT_EQ(check_mounts(text, {"/tmp"}), "");
}

TEST(MountPlan, NoticesWhatHidesNothing) {
  const std::string root = kRoot;
  EXPECT_EQ(check_mounts(root + "2 1 0:4 /zero /proc/keys ro,nosuid - tmpfs tmpfs rw\n", {}),
            "/proc/keys shows something else");
  EXPECT_EQ(check_mounts(root + "2 1 0:4 / /proc/sys ro,nosuid - tmpfs tmpfs rw\n", {}),
            "/proc/sys shows something else");
  EXPECT_EQ(check_mounts(root, {}), "/proc/sys is not mounted");
}

TEST(MountPlan, NamesTheMountThatIsWeaker) {
  const std::string root = kRoot;
  EXPECT_EQ(check_mounts(root + "2 1 0:2 / /usr rw,nosuid,nodev - ext4 x rw\n", {}),
            "/usr is not read-only");
  EXPECT_EQ(check_mounts(root + "2 1 0:2 / /usr ro,nodev - ext4 x rw\n", {}), "/usr is not nosuid");
  EXPECT_EQ(check_mounts(root + "2 1 0:2 / /usr ro,nosuid - ext4 x rw\n", {}), "/usr is not nodev");
  EXPECT_EQ(check_mounts(root + "2 1 0:2 /sys /proc/sys rw,nosuid,nodev - proc proc rw\n", {}),
            "/proc/sys is not read-only");
  EXPECT_EQ(check_mounts(root, {"/tmp"}), "/tmp is not mounted");
  EXPECT_EQ(check_mounts("garbage\n", {}), "unreadable mountinfo");
}

// "ro" after the dash is the file system's, not the mount's.
TEST(MountPlan, LooksAtTheOptionsOfTheMountItself) {
  EXPECT_EQ(check_mounts(std::string(kRoot) + "2 1 0:2 / /x rw,nosuid,nodev - ext4 x ro\n", {}),
            "/x is not read-only");
}

TEST(MountPlan, MakesParentsBeforeChildren) {
  std::vector<std::string> made;
  for (const sandbox::RootEntry& entry : sandbox::root_plan({"/opt/tool"})) {
    if (entry.kind == sandbox::RootEntry::Kind::file) {
      const std::string parent = entry.path.substr(0, entry.path.find_last_of('/'));
      EXPECT_NE(std::ranges::find(made, parent), made.end()) << entry.path;
    }
    made.push_back(entry.path);
  }
  EXPECT_EQ(made.back(), "/opt/tool");
}

TEST(MountPlan, KnowsNormalPaths) {
  for (const char* path : {"/a", "/a/b", "/a/.b", "/a/..b"})
    EXPECT_TRUE(is_normal_path(path)) << path;
  for (const char* path : {"", "/", "a", "/a/", "//a", "/a/../b", "/.", "/a/./b"})
    EXPECT_FALSE(is_normal_path(path)) << path;
  EXPECT_TRUE(is_normal_relative_path("a/b"));
  for (const char* path : {"", "/a", "../a", "a/..", "a//b", "a/"})
    EXPECT_FALSE(is_normal_relative_path(path)) << path;
  EXPECT_FALSE(is_normal_relative_path(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace tests
