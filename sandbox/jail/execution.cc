#include "sandbox/jail/execution.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace sandbox::jail {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Less CPU time than that over a whole idle period is none: a sleeping process is woken now and
// then.
constexpr std::int64_t kIdleCpuUs = 1000;
constexpr milliseconds kCpuSample{100};

// Owned by the command's user, who may open /dev/stdout anew.
os::Result<Pipe> make_output_pipe(std::uint32_t user) {
  Pipe pipe = TRY(make_pipe());
  if (::fchown(pipe.write.get(), user, user) != 0) return os::fail_errno("set owner of a pipe");
  return pipe;
}

}  // namespace

os::Result<Execution> Execution::start(Order order, std::uint32_t user, const Parts& parts) {
  Execution execution(parts);
  Pipe output = TRY(make_output_pipe(user));
  Pipe error_output;
  if (parts.request.separate_error_output) error_output = TRY(make_output_pipe(user));
  order.output = output.write.get();
  order.error_output =
      parts.request.separate_error_output ? error_output.write.get() : output.write.get();
  execution.output_ = std::move(output.read);
  execution.error_output_ = std::move(error_output.read);
  const Report report = TRY(parts.launch.execute(std::move(order)));
  if (report.kind == Report::Kind::started)
    execution.started_ = report;
  else
    execution.ending_.failed = report;
  execution.start_ = Clock::now();
  execution.last_activity_ = execution.start_;
  execution.last_sample_ = execution.start_;
  return execution;
}

bool Execution::is_over() const {
  return report_closed_ || ending_.failed || ending_.ended || ending_.forced != Forced::none;
}

os::Result<Ending> Execution::watch(Output& output, Output* error_output) {
  printed_ = &output;
  printed_errors_ = error_output;
  const std::array<Execution*, 1> self{this};
  while (!is_over()) TRY(wait_once(self));
  TRY(conclude());
  return ending_;
}

os::Result<std::array<Ending, 2>> Execution::watch_both(const std::array<Joined, 2>& both) {
  std::vector<Execution*> running;
  for (const Joined& each : both) {
    each.execution.printed_ = &each.output;
    each.execution.printed_errors_ = each.error_output;
    running.push_back(&each.execution);
  }
  while (true) {
    // One may have failed to start.
    for (Execution* const each : running)
      if (each->is_over()) TRY(each->conclude());
    std::erase_if(running, [](const Execution* each) { return each->is_over(); });
    if (running.empty()) break;
    Execution& second = both[1].execution;
    if (both[0].execution.is_over() && !second.farewell_)
      second.farewell_ = Clock::now() + kFarewell;
    TRY(wait_once(running));
    const auto active = std::ranges::max(running, {}, &Execution::last_activity_)->last_activity_;
    for (Execution* const each : running) each->last_activity_ = active;
  }
  return std::array{both[0].execution.ending_, both[1].execution.ending_};
}

os::Result<void> Execution::conclude() {
  const Clock::time_point stop = Clock::now();
  TRY(end());
  ending_.wall_us = duration_cast<std::chrono::microseconds>(stop - start_).count();
  if (started_ && ending_.ended)
    ending_.wall_us = (ending_.ended->time_ns - started_->time_ns) / 1000;
  ending_.wall_bound_ms = wall().count();
  if (!ending_.failed && !ending_.ended && ending_.forced == Forced::none) {
    Report lost;
    std::string_view("supervisor ended").copy(lost.step.data(), lost.step.size() - 1);
    ending_.failed = lost;
  }
  return {};
}

os::Result<void> Execution::wait_once(std::span<Execution* const> running) {
  Client& client = running.front()->parts_.client;
  const std::array<pollfd, 2> asked = client.watched();
  std::vector<pollfd> fds(asked.begin(), asked.end());
  std::int64_t timeout = 60'000;
  for (const Execution* const each : running) {
    for (const int fd :
         {each->output_.get(), each->error_output_.get(), each->parts_.launch.report()})
      fds.push_back(pollfd{fd, POLLIN, 0});
    timeout = std::min<std::int64_t>(timeout, each->next_check().count());
  }
  if (::poll(fds.data(), fds.size(), static_cast<int>(timeout)) < 0 && errno != EINTR)
    return os::fail_errno("poll");
  for (std::size_t i = 0; i < running.size(); ++i) {
    const std::span<const pollfd> own = std::span(fds).subspan(asked.size() + 3 * i, 3);
    if (own[0].revents != 0 || own[1].revents != 0) TRY(running[i]->read_output());
    if (own[2].revents != 0) running[i]->read_report();
  }
  if (std::ranges::all_of(running, &Execution::is_over)) return {};
  const bool is_asked = fds[0].revents != 0 || fds[1].revents != 0;
  const bool is_cancelled = is_asked && client.check() != Client::Event::none;
  for (Execution* const each : running) {
    if (each->is_over()) continue;
    if (is_cancelled) each->ending_.forced = Forced::cancelled;
    if (!is_cancelled) TRY(each->check_deadlines());
  }
  return {};
}

milliseconds Execution::wall() const {
  const milliseconds limit = parts_.request.limits.wall;
  if (!farewell_) return limit;
  return std::min(limit, duration_cast<milliseconds>(*farewell_ - start_));
}

os::Result<void> Execution::read_output() {
  TRY(read_stream(output_, *printed_));
  if (printed_errors_ != nullptr) TRY(read_stream(error_output_, *printed_errors_));
  return {};
}

// What is there now; a closed pipe is dropped so that it wakes nobody.
os::Result<void> Execution::read_stream(os::Fd& pipe, Output& output) {
  std::array<char, 64U << 10U> buffer;
  // Bounded, so that an endless printer cannot keep the jail from its deadlines.
  for (int round = 0; pipe.is_open() && round < 64; ++round) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0) return os::fail_errno("read output");
    if (got == 0) {
      pipe.close();
      return {};
    }
    TRY(output.append({buffer.data(), static_cast<std::size_t>(got)}));
    last_activity_ = Clock::now();
    const auto bound = static_cast<std::int64_t>(parts_.request.limits.output.count);
    if (output.total_bytes() > bound && !is_over()) ending_.forced = Forced::output;
    if (output.total_bytes() > bound && ending_.forced == Forced::output) return {};
  }
  return {};
}

void Execution::read_report() {
  while (true) {
    Report report;
    const ssize_t got = ::read(parts_.launch.report(), &report, sizeof(report));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got != sizeof(report)) {
      report_closed_ = true;
      return;
    }
    report.step.back() = '\0';
    if (report.kind == Report::Kind::failed && !ending_.failed) ending_.failed = report;
    if (report.kind == Report::Kind::ended) ending_.ended = report;
  }
}

milliseconds Execution::sample_interval() const {
  const Limits& limits = parts_.request.limits;
  milliseconds interval = milliseconds::max();
  if (limits.idle.count() > 0)
    interval = std::clamp(limits.idle / 8, milliseconds(20), milliseconds(1000));
  if (limits.cpu_time.count() > 0) interval = std::min(interval, kCpuSample);
  return interval;
}

milliseconds Execution::next_check() const {
  milliseconds next = duration_cast<milliseconds>(start_ + wall() - Clock::now());
  next = std::min(next, sample_interval());
  // One more: a deadline is checked after it, not just before.
  return std::max(milliseconds(0), next) + milliseconds(1);
}

os::Result<void> Execution::check_deadlines() {
  const Limits& limits = parts_.request.limits;
  const Clock::time_point now = Clock::now();
  if (now >= start_ + wall()) {
    ending_.forced = Forced::wall;
    return {};
  }
  if (duration_cast<milliseconds>(now - last_sample_) < sample_interval()) return {};
  last_sample_ = now;
  const std::int64_t cpu_us = TRY_CONTEXT(parts_.group.cpu_time_us(), "read CPU time");
  if (limits.cpu_time.count() > 0 && cpu_us >= limits.cpu_time.count() * 1000) {
    ending_.forced = Forced::cpu;
    return {};
  }
  if (cpu_us - cpu_at_activity_us_ >= kIdleCpuUs) {
    cpu_at_activity_us_ = cpu_us;
    last_activity_ = now;
  }
  if (limits.idle.count() > 0 && now >= last_activity_ + limits.idle) {
    ending_.forced = Forced::idle;
    ending_.idle_ms = duration_cast<milliseconds>(now - last_activity_).count();
  }
  return {};
}

// A command ends with its first process: what it left is killed at once, and counted.
os::Result<void> Execution::end() {
  const os::Result<std::int64_t> killed = parts_.group.kill_all();
  if (!killed) return std::unexpected(killed.error());
  if (ending_.ended && ending_.forced == Forced::none) ending_.left_behind = *killed;
  // The supervisor may have told more in the meantime, but whoever was first is right.
  const Forced forced = ending_.forced;
  TRY(read_output());
  ending_.forced = forced;
  return {};
}

}  // namespace sandbox::jail
