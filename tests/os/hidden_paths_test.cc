#include "sandbox/os/hidden_paths.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/support/capability.h"

namespace os {
namespace {

// keys/secret is hidden; keys/open and work/ lie beside the way to it.
class HiddenPaths : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(landlock);
    for (const char* const folder : {"keys", "work", "work/deep"})
      ASSERT_EQ(::mkdir((place_ / folder).c_str(), 0755), 0);
    for (const char* const file : {"keys/secret", "keys/open", "work/file"})
      ASSERT_TRUE(write_file_durably(place_ / file, "text", 0600));
  }

  // True if `action` answers 0 in a process from which keys/secret is hidden.
  bool works(const std::function<int()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(3);
      const auto hidden = hide_paths({place_ / "keys/secret"}, {});
      if (!hidden || !*hidden) ::_exit(2);
      ::_exit(action() == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  int open(const std::string& file, int flags) const {
    const int fd = ::open((place_ / file).c_str(), flags, 0600);
    if (fd >= 0) ::close(fd);
    return fd < 0 ? -1 : 0;
  }
  int link(const std::string& from, const std::string& to) const {
    return ::link((place_ / from).c_str(), (place_ / to).c_str());
  }
  int rename(const std::string& from, const std::string& to) const {
    return ::rename((place_ / from).c_str(), (place_ / to).c_str());
  }

  TempDir place_ = *TempDir::create("hidden-paths");
};

TEST_F(HiddenPaths, CannotBeOpenedLinkedRenamedCutOrRemoved) {
  EXPECT_FALSE(works([&] { return open("keys/secret", O_RDONLY); }));
  EXPECT_FALSE(works([&] { return open("keys/secret", O_WRONLY); }));
  EXPECT_FALSE(works([&] { return link("keys/secret", "keys/other"); }));
  EXPECT_FALSE(works([&] { return link("keys/secret", "work/other"); }));
  EXPECT_FALSE(works([&] { return rename("keys/secret", "work/other"); }));
  EXPECT_FALSE(works([&] { return rename("keys", "work/keys"); }));
  EXPECT_FALSE(works([&] { return ::truncate((place_ / "keys/secret").c_str(), 0); }));
  EXPECT_FALSE(works([&] { return ::unlink((place_ / "keys/secret").c_str()); }));
  EXPECT_FALSE(works([&] { return open("keys/new", O_WRONLY | O_CREAT); }));
  EXPECT_EQ(read_file(place_ / "keys/secret").value_or(""), "text");
}

TEST_F(HiddenPaths, LeaveWhatLiesBesideThemAsItWas) {
  EXPECT_TRUE(works([&] { return open("keys/open", O_RDWR); }));
  EXPECT_TRUE(works([&] { return open("work/new", O_WRONLY | O_CREAT); }));
  EXPECT_TRUE(works([&] { return rename("work/file", "work/deep/file"); }));
  EXPECT_TRUE(works([&] { return link("work/deep/file", "work/again"); }));
  EXPECT_TRUE(works([&] { return ::truncate((place_ / "work/again").c_str(), 1); }));
  EXPECT_TRUE(works([&] { return ::unlink((place_ / "work/again").c_str()); }));
  EXPECT_TRUE(works([] {
    const int fd = ::open("/etc/hostname", O_RDONLY);
    return fd < 0 ? -1 : 0;
  }));
}

}  // namespace
}  // namespace os
