#include "runner/cli/sandbox_run.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runner/cli/sandbox_gpus.h"
#include "runner/cli/terminal.h"
#include "sandbox/cgroup.h"
#include "sandbox/environment.h"
#include "sandbox/gpu/desk.h"
#include "sandbox/gpu/health.h"
#include "sandbox/gpu/release.h"
#include "sandbox/host.h"
#include "sandbox/jail_client.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using sandbox::OutcomeKind;
using sandbox::RunResult;

constexpr const char* kRun = "run";
constexpr std::chrono::seconds kJailEnd{15};  // it kills and cleans up in far less

// What becomes of one run: its result and what it printed.
struct Report {
  RunResult result;
  std::string head;
  std::string tail;
  std::optional<sandbox::gpu::LeaseEnd> gpus;
};

// SIGINT and SIGTERM as a descriptor; they stay blocked until the end of the program.
os::Result<os::Fd> cancel_descriptor() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return os::fail_errno("block signals");
  os::Fd descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!descriptor.is_open()) return os::fail_errno("signalfd");
  return descriptor;
}

// What the command prints, on our standard output: as it is, but harmless on a terminal.
class Printer {
 public:
  void add(std::string_view bytes) {
    if (!escapes_) return print(bytes);
    held_ += bytes;
    const std::size_t ready = held_.size() - unfinished_bytes(held_);
    print(escape_text(std::string_view(held_).substr(0, ready)));
    held_.erase(0, ready);
  }
  void finish() { print(escape_text(std::exchange(held_, {}))); }

 private:
  bool escapes_ = is_terminal(STDOUT_FILENO);
  std::string held_;
};

// Prints a file that grows, until it is told to stop and nothing is left.
void follow(const std::string& path, const std::stop_token& stop) {
  Printer printer;
  os::Fd file;
  for (bool is_last = false; !is_last;) {
    is_last = stop.stop_requested();
    if (!file.is_open())
      if (os::Result<os::Fd> opened = os::open_file(path, O_RDONLY)) file = std::move(*opened);
    if (const os::Result<std::string> more = os::read_all(file.get(), SIZE_MAX)) printer.add(*more);
    if (!is_last) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  printer.finish();
}

// A jail of our own, with all that it needs and leaves.
class PrivateJail {
 public:
  static os::Result<std::unique_ptr<PrivateJail>> start(const SandboxRunOptions& options,
                                                        const GpuOptionsReader& gpu_options) {
    std::unique_ptr<PrivateJail> made(new PrivateJail);
    PrivateJail& jail = *made;
    jail.directory_.emplace(TRY(os::TempDir::create("proofhouse-run")));
    const os::Fd attempt = TRY(os::open_file(jail.directory_->path(), O_PATH | O_DIRECTORY));
    os::Fd workspace;
    if (!options.workspace.empty())
      workspace =
          TRY_CONTEXT(os::open_file(options.workspace, O_PATH | O_DIRECTORY), "--workspace");
    sandbox::JailStart request;
    request.program = TRY(os::program_directory()) + "/jail";
    request.bounds = TRY(jail.bounds(options));
    if (options.gpus > 0) {
      sandbox::gpu::PoolOptions gpus = TRY(gpu_options(options.config));
      sandbox::gpu::allow_gaps(gpus, options.allow_gaps);
      jail.gpus_ = TRY_CONTEXT(
          SandboxGpus::open(std::move(gpus), jail.directory_->path() + "/grants"), "--gpu");
      request.bounds.driver_files = jail.gpus_->driver_files();
      request.grants = jail.gpus_->grants();
    }
    request.attempt_directory = attempt.get();
    request.directory = workspace.get();
    for (const sandbox::IdSlot& slot : jail.slots_) request.held.push_back(slot.lock_fd());
    auto [ours, theirs] = TRY(os::seqpacket_pair());
    jail.client_.emplace(std::move(ours));
    jail.process_.emplace(TRY(sandbox::start_jail(request, theirs.get())));
    return made;
  }

  PrivateJail(const PrivateJail&) = delete;
  PrivateJail& operator=(const PrivateJail&) = delete;
  ~PrivateJail() { static_cast<void>(close().has_value()); }

  sandbox::JailClient& client() { return *client_; }

  // Gives `count` GPUs to the run; the gaps of that.
  os::Result<std::vector<std::string>> lease_gpus(int count, sandbox::RunRequest& request) {
    if (!gpus_) return std::vector<std::string>();
    const pid_t pid = process_->pid();
    const sandbox::gpu::HolderProcess holder{pid, TRY(os::process_start_time(pid))};
    return TRY_CONTEXT(gpus_->lease(count, holder, prefix_ + "/" + kRun, request), "--gpu").gaps;
  }
  os::Result<std::optional<sandbox::gpu::LeaseEnd>> release_gpus() {
    if (!gpus_) return std::nullopt;
    return TRY_CONTEXT(gpus_->release(), "--gpu");
  }

  // Path of a file of the run, of whatever the jail left there.
  std::string file(const std::string& name) const {
    return *directory_ / (std::string("runs/") + kRun + "/" + name);
  }

  // Ends the jail and everything that it holds.
  os::Result<void> close() {
    client_.reset();
    if (!process_) return {};
    const os::Result<os::ExitStatus> ended = process_->wait(kJailEnd);
    process_.reset();
    const sandbox::CgroupHost host = TRY(sandbox::CgroupHost::detect());
    TRY(host.sweep(prefix_));
    if (!ended) return std::unexpected(os::with_context(ended.error(), "end of the jail"));
    if (!ended->is_success()) return os::fail(os::Code::internal, "the jail did not end well");
    return {};
  }

 private:
  PrivateJail() = default;

  os::Result<sandbox::Bounds> bounds(const SandboxRunOptions& options) {
    sandbox::Bounds made;
    made.attempt = kRun;
    made.cgroup = prefix_ + "/" + kRun;
    // A range for each domain, though only the first is used here.
    for (int domain = 0; domain < 4; ++domain) {
      slots_.push_back(TRY(sandbox::IdSlot::take()));
      made.ids.push_back(slots_.back().range());
    }
    made.attempt_uid = ::geteuid();
    made.attempt_gid = ::getegid();
    made.cpus = sandbox::available_cpus();
    if (std::cmp_greater(options.limits.cpus, made.cpus.size()))
      return os::fail(os::Code::invalid,
                      fmt::format("--cpus: this machine gives us {}", made.cpus.size()));
    made.memory = options.limits.memory;
    made.gaps_allowed = options.allow_gaps;
    return made;
  }

  std::string prefix_ = "proofhouse-" + os::random_hex(4);
  std::vector<sandbox::IdSlot> slots_;
  std::optional<os::TempDir> directory_;
  std::unique_ptr<SandboxGpus> gpus_;
  std::optional<os::ChildProcess> process_;
  std::optional<sandbox::JailClient> client_;
};

std::vector<std::string> environment_of(const SandboxRunOptions& options) {
  std::map<std::string, std::string> values = sandbox::default_environment(options.limits);
  for (const std::string& variable : options.environment) {
    const std::size_t equals = variable.find('=');
    values[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

sandbox::RunRequest request_of(const SandboxRunOptions& options) {
  sandbox::RunRequest request;
  request.id = kRun;
  request.workspace = "workspace";
  request.mode = sandbox::WorkspaceMode::shared;
  request.command = options.command;
  // A jail takes absolute paths only; the shell knows how to search PATH.
  if (!options.command.front().starts_with('/'))
    request.command.insert(request.command.begin(), {"/bin/sh", "-c", "exec \"$@\"", "sh"});
  request.environment = environment_of(options);
  request.limits = options.limits;
  if (!options.out.empty())
    request.collect.push_back({.name = "workspace",
                               .path = ".",
                               .from_out = false,
                               .is_directory = true,
                               .limit = options.limits.disk,
                               .files = options.limits.inodes});
  return request;
}

// Copies what was collected to the directory asked for.
os::Result<void> take_out(const RunResult& result, const PrivateJail& jail,
                          const std::string& target) {
  if (target.empty()) return {};
  for (const sandbox::Collected& collected : result.collected) {
    if (!collected.error.empty())
      return os::fail(os::Code::invalid, "--out: /workspace: " + collected.error);
    std::error_code error;
    std::filesystem::copy(jail.file("collected/workspace"), target,
                          std::filesystem::copy_options::recursive, error);
    if (error) return os::fail(os::Code::internal, "--out: " + error.message());
  }
  return {};
}

os::Result<Report> execute(const SandboxRunOptions& options, const GpuOptionsReader& gpu_options) {
  if (!options.out.empty() && std::filesystem::exists(options.out))
    return os::fail(os::Code::conflict, "--out: " + options.out + " exists already");
  const os::Fd cancel = TRY(cancel_descriptor());
  const std::unique_ptr<PrivateJail> jail = TRY(PrivateJail::start(options, gpu_options));
  Report report;
  {
    std::jthread follower;
    if (!options.json)
      follower = std::jthread(
          [path = jail->file("head")](const std::stop_token& stop) { follow(path, stop); });
    sandbox::WorkspaceRequest workspace;
    workspace.name = "workspace";
    workspace.directory = !options.workspace.empty();
    workspace.disk = options.limits.disk;
    workspace.inodes = options.limits.inodes;
    TRY(jail->client().open_workspace(workspace));
    sandbox::RunRequest request = request_of(options);
    const std::vector<std::string> gaps = TRY(jail->lease_gpus(options.gpus, request));
    report.result = TRY(jail->client().run(request, cancel.get()));
    report.gpus = TRY(jail->release_gpus());
    if (!gaps.empty()) report.result.level = "reduced";
    report.result.gaps.insert(report.result.gaps.end(), gaps.begin(), gaps.end());
  }
  const std::size_t most = options.limits.keep.count;
  if (options.json && report.result.head_bytes > 0)
    report.head = TRY(os::read_file(jail->file("head"), most));
  if (report.result.tail_bytes > 0) report.tail = TRY(os::read_file(jail->file("tail"), most));
  TRY(take_out(report.result, *jail, options.out));
  TRY(jail->close());
  return report;
}

void show_json(const Report& report) {
  const RunResult& result = report.result;
  nlohmann::json object{
      {"schema", 1},
      {"outcome", sandbox::to_json(result.outcome)},
      {"limits_hit", sandbox::to_json(result.limits_hit)},
      {"usage", sandbox::to_json(result.usage)},
      {"output", {{"head", report.head}, {"tail", report.tail}, {"bytes", result.output_bytes}}},
      {"level", result.level},
      {"gaps", result.gaps}};
  if (report.gpus) object["gpus"] = sandbox::gpu::to_json(*report.gpus);
  print_json(sandbox::dump_json(object));
}

void show_gpus(const sandbox::gpu::LeaseEnd& end) {
  for (const sandbox::gpu::GpuUse& use : end.uses) {
    say(fmt::format("{}: held {} ms, busy {} ms, starved {} ms, idle {} ms, {} MiB at most",
                    use.uuid, use.telemetry.held_ms, use.telemetry.busy_ms,
                    use.telemetry.starved_ms, use.telemetry.idle_ms,
                    use.telemetry.memory_peak >> 20));
    for (const int xid : use.xids)
      say(fmt::format("{}: Xid {} ({})", use.uuid, xid,
                      sandbox::gpu::xid_class_name(sandbox::gpu::classify_xid(xid))));
  }
  if (!end.fault.empty()) say("the GPU failed meanwhile: " + end.fault);
}

void show_text(const Report& report) {
  const RunResult& result = report.result;
  const std::int64_t omitted = result.output_bytes - result.head_bytes - result.tail_bytes;
  if (omitted > 0) say(fmt::format("{} bytes of output are left out here", omitted));
  Printer printer;
  printer.add(report.tail);
  printer.finish();
  // An exit code speaks for itself.
  if (result.outcome.kind != OutcomeKind::exited) say(sandbox::describe(result.outcome));
  for (const sandbox::LimitHit& hit : result.limits_hit)
    say(fmt::format("limit {} was hit: {} of {}", hit.limit, hit.figure, hit.bound));
  if (result.usage.left_behind > 0)
    say(fmt::format("{} processes were left behind and killed", result.usage.left_behind));
  for (const std::string& gap : result.gaps) say("not enforced here: " + gap);
  if (report.gpus) show_gpus(*report.gpus);
}

int exit_status(const sandbox::Outcome& outcome) {
  switch (outcome.kind) {
    case OutcomeKind::exited:
      return outcome.code;
    case OutcomeKind::signalled:
      return 128 + outcome.signal;
    case OutcomeKind::timed_out:
      return 124;
    case OutcomeKind::killed:
      return 137;
    case OutcomeKind::cancelled:
      return 130;
    case OutcomeKind::setup_failed:
      break;
  }
  return 125;
}

}  // namespace

int run_sandbox(const SandboxRunOptions& options, const GpuOptionsReader& gpu_options) {
  if (::geteuid() != 0) {
    say("a sandbox needs root. Use: sudo proofhouse sandbox run …");
    return 3;
  }
  os::Result<Report> report = execute(options, gpu_options);
  if (!report && options.json) {
    // Nothing ran: that is an outcome too, and whoever reads JSON looks there.
    Report failed;
    failed.result.outcome =
        sandbox::Outcome::setup_failed(report.error().message, report.error().sys_errno);
    report = std::move(failed);
  }
  if (!report) {
    say(report.error().message);
    return 125;
  }
  options.json ? show_json(*report) : show_text(*report);
  return options.json ? 0 : exit_status(report->result.outcome);
}

int run_sandbox(const std::vector<std::string>& arguments, const GpuOptionsReader& gpu_options) {
  const os::Result<SandboxRunOptions> options = parse_sandbox_run(arguments);
  if (!options) {
    say(fmt::format("sandbox run: {} (--help shows the options)", options.error().message));
    return 2;
  }
  if (options->help) {
    print(sandbox_run_help());
    return 0;
  }
  return run_sandbox(*options, gpu_options);
}

}  // namespace runner::cli
