// Execution: one command under way: started, watched against its deadlines, ended.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>

#include "sandbox/cgroup.h"
#include "sandbox/jail/client.h"
#include "sandbox/jail/launch.h"
#include "sandbox/jail/output.h"

namespace sandbox::jail {

// Why a command was ended by the jail.
enum class Forced : std::uint8_t { none, wall, idle, cpu, output, cancelled };

// What is known when nothing of the command lives any more.
struct Ending {
  Forced forced = Forced::none;
  std::optional<Report> failed;  // the set-up failed
  std::optional<Report> ended;   // the command's first process ended by itself
  std::int64_t wall_us = 0;
  std::int64_t wall_bound_ms = 0;  // forced wall: how long it was allowed
  std::int64_t idle_ms = 0;        // forced idle: how long it had been idle
  std::int64_t left_behind = 0;    // processes killed after the command had ended
};

// Single-threaded.
class Execution {
 public:
  // Borrows all for its life.
  struct Parts {
    const RunRequest& request;
    Cgroup& group;
    Client& client;
    Launch& launch;
  };

  // Makes the pipes of the command and starts it; `order` lacks only its descriptors for output.
  static os::Result<Execution> start(Order order, std::uint32_t user, const Parts& parts);

  // Returns when the command has ended or was ended, everything in its cgroup is dead and all
  // output is read. Its supervisor still lives. `error_output` is null where both streams are one.
  os::Result<Ending> watch(Output& output, Output* error_output);

  // What one of two that are joined by pipes prints, beside its answers.
  struct Joined {
    Execution& execution;
    Output& output;
    Output* error_output;
  };
  // The same for both. When the first has ended, the second has kFarewell left; one that waits
  // while the other works is not idle.
  static os::Result<std::array<Ending, 2>> watch_both(const std::array<Joined, 2>& both);
  static constexpr std::chrono::seconds kFarewell{5};

 private:
  using Clock = std::chrono::steady_clock;

  explicit Execution(const Parts& parts) : parts_(parts) {}
  bool is_over() const;
  // Waits for whatever comes first of all of them, and takes it.
  static os::Result<void> wait_once(std::span<Execution* const> running);
  // Kills what is left, once it is over, and completes the ending.
  os::Result<void> conclude();
  // How long it may run.
  std::chrono::milliseconds wall() const;
  os::Result<void> read_output();
  os::Result<void> read_stream(os::Fd& pipe, Output& output);
  void read_report();
  os::Result<void> check_deadlines();
  std::chrono::milliseconds sample_interval() const;
  std::chrono::milliseconds next_check() const;
  os::Result<void> end();

  Parts parts_;
  Output* printed_ = nullptr;
  Output* printed_errors_ = nullptr;
  os::Fd output_;
  os::Fd error_output_;
  bool report_closed_ = false;
  std::optional<Report> started_;
  Ending ending_;
  Clock::time_point start_;
  std::optional<Clock::time_point> farewell_;  // a wall deadline of its own
  Clock::time_point last_activity_;
  Clock::time_point last_sample_;
  std::int64_t cpu_at_activity_us_ = 0;
};

}  // namespace sandbox::jail
