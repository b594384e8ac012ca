#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/host.h"
#include "sandbox/jail_client.h"
#include "sandbox/os/files.h"

/// A real jail on directories of its own, for tests that run commands in it.
namespace tests {

/// Asserts that a Result holds a value, printing its error.
#define ASSERT_OK(expression)                                                      \
  do {                                                                             \
    const auto& assert_ok_result = (expression);                                   \
    ASSERT_TRUE(assert_ok_result.has_value()) << assert_ok_result.error().message; \
  } while (false)

class JailTest : public ::testing::Test {
 protected:
  void SetUp() override;
  /// Ends the jail and checks that it ended well and left no group.
  void TearDown() override;

  /// Starts the jail; SetUp has filled `bounds` and made the directories, tests may change them
  /// before. Layers, repository and directory are given when the members below are set.
  void start();
  /// The same, but gives our end of the socket instead of making a client.
  os::Fd launch();
  /// Closes the socket and waits: the jail's exit status.
  os::ExitStatus end();

  /// `sh -euc script` as the request `id` (and as no request yet: `request`).
  sandbox::RunRequest request(const std::string& id, const std::string& script) const;
  /// Runs it; an error fails the test and gives a default result.
  sandbox::RunResult run(const sandbox::RunRequest& request);
  sandbox::RunResult run(const std::string& id, const std::string& script);
  /// Runs the script and gives what it printed; fails the test unless it exited with 0.
  std::string print(const std::string& id, const std::string& script);
  /// What a run printed (its head).
  std::string head(const std::string& id) const;
  /// A file below the attempt's directory.
  std::string file(const std::string& path) const;

  /// Makes trees/<40 times digit> with these files (name, content) and gives its id.
  std::string make_tree(char digit,
                        const std::vector<std::pair<std::string, std::string>>& files) const;
  void open_workspace(const sandbox::WorkspaceRequest& request);

  std::optional<os::TempDir> directory;
  std::optional<sandbox::IdSlot> slot;
  std::string cgroup_prefix;
  sandbox::Bounds bounds;
  std::vector<int> held;   ///< Descriptors that the jail is to hold.
  std::string attempt;     ///< Path of the attempt's directory.
  std::string trees;       ///< Path of trees/.
  std::string layers;      ///< Path of layers/.
  std::string repository;  ///< Path, empty: not given.
  std::string lower;       ///< Path of the directory behind kDirectoryFd, empty: not given.
  std::string grants;      ///< Path of the directory of GPU grants, empty: not given.
  std::string program;     ///< Path of the jail's program, empty: the usual one.
  std::string programs;    ///< Path of what becomes /proofhouse, empty: not given.
  std::unique_ptr<sandbox::JailClient> client;
  std::optional<os::ChildProcess> jail;
};

/// Writes a file, making its directories.
void write_file(const std::string& path, const std::string& text);

}  // namespace tests
