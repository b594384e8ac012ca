#pragma once

#include <string>
#include <vector>

#include "tests/attack/inventory.h"
#include "tests/attack/row.h"
#include "tests/sandbox/jail_fixture.h"

namespace tests {

/// Which jail: the one that is shipped, or the tests' own, which can leave layers out.
enum class JailKind : std::uint8_t { shipped, ablated };

/// A jail on a machine that holds bait: services, keys, segments and files of the host's, which
/// only the test owns. Whoever starts the jail is as careless as can be: a descriptor is left open,
/// no limit is set, groups are kept.
class AttackTest : public JailTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Ends the jail, if one runs, and starts another one. PROOFHOUSE_ABLATE names `left_out`.
  void start_jail(JailKind kind, const std::string& left_out);
  /// Plays the row; its answer is "held …", "REACHED …", or how the guest ended. One that ran
  /// longer than any limit allows is ended, and has REACHED the patience of the test.
  std::string play(const Row& row);
  InventoryScope scope() const;
  /// Kills what an ablated jail left, and removes its groups.
  void clean_up();

 private:
  sandbox::RunRequest make_request(const Row& row, const std::vector<std::string>& command);
  std::string expand(const std::string& word) const;
  std::string run_bounded(const sandbox::RunRequest& run);
  std::string answer_of(const sandbox::RunRequest& run, const sandbox::RunResult& result) const;
  std::string play_quota(const sandbox::RunRequest& run);
  std::string play_cleared(const Row& row);
  std::string play_killed_jail(const sandbox::RunRequest& run);
  std::string who_is_left() const;
  void lay_out_files();
  void lay_out_services();
  void write_launcher(JailKind kind, const std::string& left_out) const;

  os::Fd listener_;
  os::Fd abstract_listener_;
  std::string mark_;  ///< Unlike any other test's.
  std::string port_;
  int segment_key_ = 0;
  int segment_ = -1;
  int runs_ = 0;
  bool is_shipped_ = true;
};

}  // namespace tests
