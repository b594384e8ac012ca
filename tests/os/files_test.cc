#include "sandbox/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/capability.h"

namespace os {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return directory_ / name; }
  void write(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(write_file_durably(path(name), bytes).has_value());
  }

  TempDir directory_ = TempDir::create().value();
};

TEST_F(Files, AreReadWholeOrNotAtAll) {
  write("file", "0123456789");
  EXPECT_EQ(read_file(path("file")).value(), "0123456789");
  EXPECT_EQ(read_file(path("file"), 9).error().code, Code::exhausted);
  EXPECT_EQ(read_file(path("missing")).error().code, Code::not_found);
}

TEST_F(Files, ReadAtTakesRegularFilesOnly) {
  REQUIRE_CAPABILITY(openat2);
  const Fd root = open_file(path(""), O_PATH | O_DIRECTORY).value();
  write("file", "x");
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("file", path("link").c_str()), 0);
  ASSERT_EQ(::mkdir(path("folder").c_str(), 0700), 0);
  EXPECT_EQ(read_file_at(root.get(), "file", 10).value(), "x");
  // A FIFO without a writer must not hang the reader.
  EXPECT_EQ(read_file_at(root.get(), "fifo", 10).error().code, Code::invalid);
  EXPECT_EQ(read_file_at(root.get(), "link", 10).error().code, Code::invalid);
  EXPECT_EQ(read_file_at(root.get(), "folder", 10).error().code, Code::invalid);
}

TEST_F(Files, AreReplacedAsAWhole) {
  write("file", "old");
  ASSERT_TRUE(write_file_durably(path("file"), "new", 0640).has_value());
  EXPECT_EQ(read_file(path("file")).value(), "new");
  struct stat info{};
  ASSERT_EQ(::stat(path("file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640U);
  EXPECT_EQ(list_directory(path("")).value(), std::vector<std::string>{"file"});
}

TEST_F(Files, KeepTheirContentWhenTheReplacementFails) {
  ASSERT_EQ(::mkdir(path("file").c_str(), 0700), 0);
  EXPECT_FALSE(write_file_durably(path("file"), "new").has_value());
  EXPECT_EQ(list_directory(path("")).value(), std::vector<std::string>{"file"});
  EXPECT_FALSE(write_file_durably(path("none/file"), "new").has_value());
}

TEST_F(Files, AreWrittenBeneathADescriptor) {
  const Fd root = open_file(path(""), O_RDONLY | O_DIRECTORY).value();
  ASSERT_TRUE(write_file_durably_at(root.get(), "result.json", "{}").has_value());
  EXPECT_EQ(read_file(path("result.json")).value(), "{}");
}

TEST_F(Files, DirectoriesAreMadeWithTheirParents) {
  ASSERT_TRUE(make_directories(path("a/b/c")).has_value());
  ASSERT_TRUE(make_directories(path("a/b/c")).has_value());
  EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  write("file", "x");
  EXPECT_EQ(make_directories(path("file")).error().code, Code::conflict);
  EXPECT_FALSE(make_directories(path("file/below")).has_value());
}

TEST_F(Files, ListingsAreSortedAndBounded) {
  for (const char* const name : {"b", "a", ".hidden"}) write(name, "");
  EXPECT_EQ(list_directory(path("")).value(), (std::vector<std::string>{".hidden", "a", "b"}));
  EXPECT_EQ(list_directory(path(""), 2).error().code, Code::exhausted);
}

TEST_F(Files, RemovingATreeNeverFollowsALink) {
  ASSERT_TRUE(make_directories(path("keep/inner")).has_value());
  write("keep/inner/file", "precious");
  ASSERT_TRUE(make_directories(path("tree/below")).has_value());
  ASSERT_EQ(::symlink(path("keep").c_str(), path("tree/link").c_str()), 0);
  ASSERT_EQ(::symlink(path("keep/inner").c_str(), path("tree/below/link").c_str()), 0);
  ASSERT_EQ(::symlink(path("keep").c_str(), path("top").c_str()), 0);
  ASSERT_TRUE(remove_tree(path("tree")).has_value());
  ASSERT_TRUE(remove_tree(path("top")).has_value());
  EXPECT_FALSE(fs::exists(path("tree")));
  EXPECT_FALSE(fs::is_symlink(path("top")));
  EXPECT_EQ(read_file(path("keep/inner/file")).value(), "precious");
}

TEST_F(Files, RemovesTreesDeeperThanAnyPathMayBe) {
  Fd at = open_file(path(""), O_RDONLY | O_DIRECTORY).value();
  const std::string name(200, 'd');
  // 600 levels of 200 bytes: 30 times PATH_MAX.
  for (int depth = 0; depth < 600; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.is_open());
    const Fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.is_open());
  }
  at.close();
  ASSERT_TRUE(remove_tree(path(name)).has_value());
  EXPECT_TRUE(list_directory(path("")).value().empty());
}

TEST_F(Files, RemovesTreesThatTheirOwnerLocked) {
  ASSERT_TRUE(make_directories(path("tree/closed/inner")).has_value());
  write("tree/closed/inner/file", "x");
  ASSERT_EQ(::mkfifo(path("tree/closed/fifo").c_str(), 0), 0);
  ASSERT_EQ(::chmod(path("tree/closed/inner").c_str(), 0), 0);
  ASSERT_EQ(::chmod(path("tree/closed").c_str(), 0), 0);
  EXPECT_TRUE(remove_tree(path("tree")).has_value());
  EXPECT_FALSE(fs::exists(path("tree")));
}

TEST_F(Files, RemovingWhatIsNotThereIsNoError) {
  EXPECT_TRUE(remove_tree(path("none")).has_value());
  EXPECT_TRUE(remove_tree(path("none/below")).has_value());
}

TEST(TempDir, IsRemovedWithAllBelowIt) {
  std::string kept;
  {
    TempDir directory = TempDir::create("prefix").value();
    kept = directory.path();
    EXPECT_NE(kept.find("/prefix-"), std::string::npos);
    ASSERT_TRUE(make_directories(directory / "a/b").has_value());
    const TempDir moved = std::move(directory);
    EXPECT_EQ(moved.path(), kept);
    EXPECT_TRUE(fs::exists(kept));
  }
  EXPECT_FALSE(fs::exists(kept));
}

}  // namespace
}  // namespace os
