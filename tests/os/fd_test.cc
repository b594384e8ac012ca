#include "sandbox/os/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/support/capability.h"

namespace os {
namespace {

bool is_open(int raw) { return ::fcntl(raw, F_GETFD) >= 0; }

TEST(Fd, ClosesOnceAndMovesItsOwnership) {
  Fd first = open_file("/dev/null", O_RDONLY).value();
  const int raw = first.get();
  Fd second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_TRUE(is_open(raw));
  second = Fd();
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, IsNotInheritedByOtherPrograms) {
  const Fd file = open_file("/dev/null", O_RDONLY).value();
  EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
  const Fd copy = file.duplicate().value();
  EXPECT_NE(::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(copy.get(), file.get());
}

TEST(Fd, ReleasedIsTheCallersToClose) {
  Fd file = open_file("/dev/null", O_RDONLY).value();
  const int raw = file.release();
  file.close();
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(OpenFile, NamesThePathThatIsMissing) {
  const Result<Fd> missing = open_file("/no/such/file", O_RDONLY);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_NE(missing.error().message.find("/no/such/file"), std::string::npos);
}

class OpenBeneath : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(openat2);
    ASSERT_EQ(::mkdir((directory_ / "inside").c_str(), 0700), 0);
    ASSERT_TRUE(write_file_durably(directory_ / "inside/file", "x").has_value());
    root_ = open_file(directory_ / "inside", O_PATH | O_DIRECTORY).value();
    ASSERT_TRUE(write_file_durably(directory_ / "secret", "s").has_value());
  }

  Code refused(const std::string& path) {
    return open_beneath(root_.get(), path, O_RDONLY).error().code;
  }

  TempDir directory_ = TempDir::create().value();
  Fd root_;
};

TEST_F(OpenBeneath, OpensWhatLiesBeneath) {
  EXPECT_TRUE(open_beneath(root_.get(), "file", O_RDONLY).has_value());
  EXPECT_TRUE(open_beneath(root_.get(), "new", O_WRONLY | O_CREAT | O_EXCL, 0600).has_value());
  EXPECT_EQ(refused("missing"), Code::not_found);
}

TEST_F(OpenBeneath, RefusesToLeaveItsDirectory) {
  EXPECT_EQ(refused("../secret"), Code::invalid);
  EXPECT_EQ(refused("/etc/passwd"), Code::invalid);
}

TEST_F(OpenBeneath, RefusesLinksAtTheEndAndOnTheWay) {
  ASSERT_EQ(::symlink("../secret", (directory_ / "inside/link").c_str()), 0);
  ASSERT_EQ(::symlink("file", (directory_ / "inside/near").c_str()), 0);
  ASSERT_EQ(::symlink("..", (directory_ / "inside/up").c_str()), 0);
  EXPECT_EQ(refused("link"), Code::invalid);
  EXPECT_EQ(refused("near"), Code::invalid);
  EXPECT_EQ(refused("up/secret"), Code::invalid);
}

TEST(ReadAll, StopsWithAnErrorAtItsLimit) {
  const TempDir directory = TempDir::create().value();
  ASSERT_TRUE(write_file_durably(directory / "file", std::string(1000, 'x')).has_value());
  const Fd file = open_file(directory / "file", O_RDONLY).value();
  EXPECT_EQ(read_all(file.get(), 999).error().code, Code::exhausted);
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(file.get(), 1000).value().size(), 1000U);
}

TEST(WriteAll, WritesMoreThanAPipeHolds) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const std::string bytes(1'000'000, 'y');
  std::string got;
  std::jthread reading([&] { got = read_all(reader.get(), bytes.size()).value_or(""); });
  EXPECT_TRUE(write_all(writer.get(), bytes).has_value());
  writer.close();
  reading.join();
  EXPECT_EQ(got, bytes);
}

TEST(WriteAll, SaysWhyItFailed) {
  const Fd full = open_file("/dev/full", O_WRONLY).value();
  EXPECT_EQ(write_all(full.get(), "x").error().sys_errno, ENOSPC);
}

TEST(SeqpacketPair, KeepsTheBordersOfMessages) {
  auto [left, right] = seqpacket_pair().value();
  ASSERT_EQ(::send(left.get(), "one", 3, 0), 3);
  ASSERT_EQ(::send(left.get(), "three", 5, 0), 5);
  char buffer[64];
  EXPECT_EQ(::recv(right.get(), buffer, sizeof buffer, 0), 3);
  EXPECT_EQ(::recv(right.get(), buffer, sizeof buffer, 0), 5);
  left.close();
  EXPECT_EQ(::recv(right.get(), buffer, sizeof buffer, 0), 0);
}

TEST(SealedMemoryFile, CanBeReadButNotChanged) {
  const Fd file = sealed_memory_file("test", "the bounds").value();
  EXPECT_EQ(read_all(file.get(), 100).value(), "the bounds");
  EXPECT_LT(::pwrite(file.get(), "x", 1, 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::ftruncate(file.get(), 0), 0);
  EXPECT_NE(::fcntl(file.get(), F_ADD_SEALS, 0), 0);
}

}  // namespace
}  // namespace os
