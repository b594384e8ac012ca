// Attempts that live on this machine: their processes, leases, and the records that let a restarted
// executor find them again.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runner/executor/executor.h"
#include "sandbox/host.h"
#include "sandbox/os/fd.h"

namespace runner {

// A process that need not be our child, named by pid and start time and watched by pidfd.
class WatchedProcess {
 public:
  WatchedProcess() = default;
  // not_found when the process is gone or the pid belongs to another one by now.
  static os::Result<WatchedProcess> open(pid_t pid, std::uint64_t start_time);

  bool is_open() const { return pidfd_.is_open(); }
  pid_t pid() const { return pid_; }
  std::uint64_t start_time() const { return start_time_; }
  int pidfd() const { return pidfd_.get(); }
  bool has_ended() const;
  void signal(int number) const;
  // Takes the exit status if it is our child (no zombie stays).
  void reap() const;

 private:
  pid_t pid_ = -1;
  std::uint64_t start_time_ = 0;
  os::Fd pidfd_;
};

// One attempt under our care.
struct Living {
  tasks::AttemptId attempt;
  std::int64_t fence = 0;
  AttemptState state = AttemptState::running;
  std::string detail;
  WatchedProcess process;  // the attempt
  WatchedProcess jail;
  std::vector<sandbox::IdSlot> slots;
  std::vector<int> slot_numbers;
  std::vector<int> cpus;
  os::Bytes memory;
  std::optional<std::chrono::steady_clock::time_point> kill_at;  // asked to stop: forced end

  std::string key() const { return attempt.str() + "." + std::to_string(fence); }
};

// Records below /run/proofhouse/attempts/<instance>/, one file an attempt: root's own, so nothing
// that runs in or beside an attempt can change them.
class LivingRecords {
 public:
  static os::Result<LivingRecords> open(const std::string& instance);
  LivingRecords(LivingRecords&&) noexcept = default;
  LivingRecords& operator=(LivingRecords&&) = delete;
  LivingRecords(const LivingRecords&) = delete;
  LivingRecords& operator=(const LivingRecords&) = delete;
  // Removes the instance's directory when no attempt lives.
  ~LivingRecords();
  os::Result<void> write(const Living& living) const;
  void erase(const Living& living) const;
  // What the records of an earlier executor say: what lives, and what has ended meanwhile without
  // anybody being told. Slots are not taken again: a living jail holds their locks itself
  // (JailStart::held).
  os::Result<std::vector<Living>> recover() const;

 private:
  explicit LivingRecords(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace runner
