#include "runner/cli/check_attempt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/cli/answers.h"
#include "runner/clock.h"
#include "runner/limits.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/evidence_store.h"

namespace runner::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::int64_t kFence = 1;
constexpr std::size_t kEventLimit = 64U << 20U;
// How often the events of a running attempt are looked at.
constexpr milliseconds kLook{250};
// A stopped attempt has this long to end by itself, its jail as long again to clean up.
constexpr seconds kGrace{5};
constexpr seconds kEndLimit{40};

std::atomic<bool> g_interrupted{false};

void on_interrupt(int /*signal*/) { g_interrupted = true; }

bool is_running(Executor& executor, const std::string& id) {
  const os::Result<std::vector<AttemptStatusReport>> all = executor.list();
  if (!all) return false;
  for (const AttemptStatusReport& each : *all)
    if (each.attempt.str() == id) return each.state == AttemptState::running;
  return false;
}

// Until it has ended, its jail has cleaned up and its directory is free.
void wait_until_gone(Executor& executor, const std::string& id) {
  const auto end = steady_clock::now() + kEndLimit;
  while (is_running(executor, id) && steady_clock::now() < end)
    if (!executor.wait_changes(kLook)) return;
}

}  // namespace

void cancel_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

os::Result<void> sweep_attempts(const CheckCache& cache, Executor& executor) {
  for (const AttemptStatusReport& left : TRY(executor.list())) {
    TRY(executor.cancel(left.attempt, left.fence, milliseconds(0)));
    wait_until_gone(executor, left.attempt.str());
    TRY(executor.remove(left.attempt, left.fence));
  }
  const std::string attempts = cache.path() + "/attempts";
  for (const std::string& name : TRY(os::list_directory(attempts)))
    TRY(os::remove_tree(attempts + "/" + name));
  return {};
}

CheckAttempt::CheckAttempt(const CheckCache& cache, Executor& executor, std::string id)
    : executor_(&executor),
      id_(std::move(id)),
      directory_(cache.path() + "/attempts/" + id_ + "/" + std::to_string(kFence)) {}

CheckAttempt::CheckAttempt(CheckAttempt&& other) noexcept
    : executor_(std::exchange(other.executor_, nullptr)),
      id_(std::move(other.id_)),
      directory_(std::move(other.directory_)),
      events_read_(other.events_read_) {}

CheckAttempt::~CheckAttempt() {
  if (executor_ == nullptr) return;
  const os::Result<void> removed = executor_->remove(tasks::AttemptId(id_), kFence);
  // An executor that is gone leaves the directory to the next check's sweep.
  if (removed)
    static_cast<void>(os::remove_tree(directory_.substr(0, directory_.rfind('/'))).has_value());
}

os::Result<CheckAttempt> CheckAttempt::create(const CheckCache& cache, Executor& executor) {
  CheckAttempt attempt(cache, executor, "a_" + os::make_ulid());
  TRY(os::make_directories(attempt.directory_.substr(0, attempt.directory_.rfind('/')), 0711));
  TRY(os::make_directories(attempt.directory_ + "/in", 0755));
  TRY(os::make_directories(attempt.directory_ + "/evidence", 0755));
  return attempt;
}

os::Result<void> CheckAttempt::stage(const std::string& name, std::string_view bytes) const {
  const os::Fd file =
      TRY(os::open_file(directory_ + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  return os::write_all(file.get(), bytes);
}

os::Result<os::Fd> CheckAttempt::open_directory() const {
  return os::open_file(directory_, O_RDONLY | O_DIRECTORY);
}

os::Result<std::string> CheckAttempt::read(const std::string& path, std::size_t limit) const {
  const os::Fd directory = TRY(open_directory());
  return os::read_file_at(directory.get(), path, limit);
}

void CheckAttempt::show_events(StatusLine& status) {
  if (!status.is_shown()) return;
  const os::Result<std::string> events = read("events.jsonl", kEventLimit);
  if (!events || events->size() <= events_read_) return;
  const std::size_t end = events->rfind('\n') + 1;
  std::string_view fresh = std::string_view(*events).substr(events_read_, end - events_read_);
  events_read_ = end;
  if (fresh.empty()) return;
  fresh.remove_suffix(1);
  const std::string_view last = fresh.substr(fresh.rfind('\n') + 1);
  const os::Result<std::vector<std::string>> type = read_texts(last, {"type"});
  if (type) status.show(describe_event(type->front(), last));
}

os::Result<void> CheckAttempt::wait_for_end(StatusLine& status) {
  while (is_running(*executor_, id_)) {
    if (g_interrupted) {
      status.show("stopping");
      TRY(executor_->cancel(tasks::AttemptId(id_), kFence, kGrace));
      wait_until_gone(*executor_, id_);
      return os::fail(os::Code::cancelled, "interrupted");
    }
    show_events(status);
    TRY(executor_->wait_changes(kLook));
  }
  return {};
}

os::Result<tasks::Evidence> CheckAttempt::run(tasks::Plan plan, AttemptStart start,
                                              StatusLine& status) {
  plan.attempt = id_;
  plan.fence = kFence;
  plan.created_at = now_text();
  plan.deadline_at = time_text_after(std::chrono::hours(24));
  plan.cpus = start.cpus;
  plan.memory = start.memory;
  start.attempt = tasks::AttemptId(id_);
  start.fence = kFence;
  start.kind = plan.kind;
  TRY(os::write_file_durably(directory_ + "/plan.json", tasks::plan_to_json(plan), 0644));
  TRY_CONTEXT(executor_->start(start), "start the attempt");
  TRY(wait_for_end(status));
  const os::Result<std::string> bytes = read("result.json", kAttemptResultLimit);
  if (!bytes) {
    const std::string log = read("attempt.log", kReportJsonLimit).value_or(std::string());
    return os::fail(os::Code::unavailable, "the attempt ended without a result" +
                                               (log.empty() ? "" : ": " + log.substr(0, 2000)));
  }
  return TRY(tasks::evidence_from_json(*bytes));
}

os::Result<void> load_parsed_reports(int attempt_directory, tasks::Evidence& evidence) {
  const tasks::EvidenceStore store = TRY(tasks::EvidenceStore::open(attempt_directory));
  for (tasks::RunRecord& run : evidence.runs)
    for (tasks::ReportRecord& report : run.reports)
      if (!report.parsed_sha256.empty())
        report.parsed =
            TRY(tasks::report_from_json(TRY(store.get(report.parsed_sha256, kReportJsonLimit))));
  return {};
}

}  // namespace runner::cli
