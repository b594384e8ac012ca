#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sandbox/ablation.h"
#include "sandbox/jail/collect.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/overlay.h"

namespace sandbox::jail {

namespace {

// The gaps that leave the level full: one is slower, not weaker; the other is a second guard.
constexpr std::string_view kIdmapGap = "idmap";
constexpr std::string_view kLandlockGap = "landlock";

Outcome outcome_of(const Ending& ending, const CgroupStats& stats) {
  if (ending.failed)
    return Outcome::setup_failed(ending.failed->step.data(), ending.failed->error_number);
  switch (ending.forced) {
    case Forced::wall:
      return Outcome::timed_out("wall");
    case Forced::idle:
      return Outcome::timed_out("idle");
    case Forced::cpu:
      return Outcome::timed_out("cpu");
    case Forced::output:
      return Outcome::killed("output");
    case Forced::cancelled:
      return Outcome::cancelled();
    case Forced::none:
      break;
  }
  const int status = ending.ended->status;
  if (WIFEXITED(status)) return Outcome::exited(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGKILL && stats.oom_kills > 0) return Outcome::killed("memory");
  return Outcome::signalled(WTERMSIG(status));
}

void note_forced(const Ending& ending, const Limits& limits, std::int64_t output,
                 const CgroupStats& stats, std::vector<LimitHit>& hits) {
  const std::int64_t cpu_ms = (stats.user_us + stats.sys_us) / 1000;
  if (ending.forced == Forced::wall)
    hits.push_back({"wall", ending.wall_us / 1000, ending.wall_bound_ms});
  if (ending.forced == Forced::idle) hits.push_back({"idle", ending.idle_ms, limits.idle.count()});
  if (ending.forced == Forced::cpu) hits.push_back({"cpu", cpu_ms, limits.cpu_time.count()});
  if (ending.forced == Forced::output)
    hits.push_back({"output", output, static_cast<std::int64_t>(limits.output.count)});
}

// A tmpfs without a byte or an inode left: a write or a create was refused or is the next to be.
void note_full(int file_system, bool& disk, bool& inodes) {
  struct statfs info{};
  if (file_system < 0 || ::fstatfs(file_system, &info) != 0) return;
  disk = disk || info.f_bavail == 0;
  inodes = inodes || info.f_ffree == 0;
}

Usage usage_of(const Ending& ending, const CgroupStats& stats) {
  Usage usage;
  usage.wall_ms = ending.wall_us / 1000;
  usage.wall_us = ending.wall_us;
  usage.user_ms = stats.user_us / 1000;
  usage.sys_ms = stats.sys_us / 1000;
  usage.memory_peak = stats.memory_peak;
  usage.pids_peak = stats.pids_peak;
  usage.read_bytes = stats.read_bytes;
  usage.written_bytes = stats.written_bytes;
  usage.left_behind = ending.left_behind;
  return usage;
}

// For execve(2), which does not write to them.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Where one command's answers go and the other's input comes from.
struct Joint {
  os::Fd read;
  os::Fd write;
};

// Whoever holds an end may open it anew by its name in /proc, whatever user it runs as.
os::Result<Joint> make_joint() {
  std::array<int, 2> raw{};
  if (::pipe2(raw.data(), O_CLOEXEC) != 0) return os::fail_errno("make a pipe between two runs");
  Joint joint{os::Fd(raw[0]), os::Fd(raw[1])};
  constexpr mode_t kAnybody = 0666;
  if (::fchmod(joint.write.get(), kAnybody) != 0) return os::fail_errno("set mode of a pipe");
  return joint;
}

RunResult with_others(std::vector<RunResult> results) {
  RunResult first = std::move(results.front());
  for (std::size_t i = 1; i < results.size(); ++i) first.beside.push_back(std::move(results[i]));
  return first;
}

}  // namespace

os::Result<const SeccompPolicy*> Jail::policy(Profile profile) {
  const auto known = policies_.find(profile);
  if (known != policies_.end()) return &known->second;
  SeccompPolicy made = TRY(build_seccomp_policy(profile));
  // Apart only where one of them is left out.
  if (!is_left_out(Layer::seccomp_list) && !is_left_out(Layer::seccomp_arguments))
    made = join_programs(std::move(made));
  return &policies_.emplace(profile, std::move(made)).first->second;
}

os::Result<os::Fd> Jail::make_run_directory(const std::string& id) {
  const int attempt = stage_.grants().attempt.get();
  os::Result<os::Fd> runs = os::open_beneath(attempt, "runs", O_RDONLY | O_DIRECTORY);
  if (!runs && runs.error().code == os::Code::not_found)
    runs = create_owned_directory(attempt, "runs", owner());
  if (!runs) return std::unexpected(runs.error());
  return create_owned_directory(runs->get(), id, owner());
}

os::Result<void> Jail::prepare_places(const RunRequest& request, RunParts& parts) {
  const std::uint32_t user = spaces_.outside(request.domain, kInnerUid);
  const Tmpfs own{
      .size = request.limits.disk, .inodes = request.limits.inodes, .uid = user, .gid = user};
  if (request.mode != WorkspaceMode::none) {
    parts.workspace = &workspaces_.at(request.workspace);
    const std::string path =
        request.mode == WorkspaceMode::shared
            ? TRY(parts.workspace->shared())
            : TRY(parts.workspace->scratch(request.limits.disk, request.limits.inodes));
    parts.file_system = TRY(os::open_file(parts.workspace->file_system(), O_PATH));
    if (parts.workspace->is_copy()) parts.gaps.emplace_back(kIdmapGap);
    parts.workspace_mount = TRY(clone_mount(AT_FDCWD, path));
  } else if (request.profile == Profile::step) {
    parts.workspace_mount = TRY(make_tmpfs(own));
    parts.file_system = TRY(parts.workspace_mount.duplicate());
  }
  if (parts.workspace_mount.is_open()) {
    parts.order.workspace = parts.workspace_mount.get();
    parts.workspace_directory =
        TRY(os::open_beneath(parts.workspace_mount.get(), ".", O_RDONLY | O_DIRECTORY));
    TRY(clear_paths(parts.workspace_directory.get(), request.clear));
  }
  if (request.out.count == 0) return {};
  parts.out = "/o/" + request.id;
  TRY(make_mount_point("", parts.out, true));
  TRY(mount_tmpfs(
      parts.out, {.size = request.out, .inodes = request.limits.inodes, .uid = user, .gid = user}));
  outs_.insert_or_assign(request.id, OutTree{parts.out, request.domain});
  parts.out_mount = TRY(clone_mount(AT_FDCWD, parts.out));
  parts.order.out = parts.out_mount.get();
  return {};
}

os::Result<void> Jail::prepare_mounts(const RunRequest& request, RunParts& parts) {
  const Grants& grants = stage_.grants();
  for (const Mount& mount : request.mounts) {
    std::string path = mount.name;
    if (mount.source == MountSource::output) {
      const std::size_t slash = path.find('/');
      path = "runs/" + path.substr(0, slash) + "/collected" + path.substr(slash);
    }
    os::Fd source =
        mount.source == MountSource::repository
            ? TRY(os::open_beneath(grants.repository.get(), ".", O_PATH))
            : TRY_CONTEXT(os::open_beneath(grants.attempt.get(), path, O_PATH), mount.target);
    parts.views.push_back(
        {TRY_CONTEXT(views_.show(source.get(), request.domain), mount.target), mount.target});
  }
  for (const ExtraView& extra : parts.views) {
    parts.order.mounts.push_back({extra.view.mount.get(), extra.target, extra.view.is_directory});
    if (extra.view.is_copy) parts.gaps.emplace_back(kIdmapGap);
  }
  return {};
}

os::Result<void> Jail::prepare_limits(const RunRequest& request, RunParts& parts) {
  parts.ready.emplace(TRY(take_ready(request.domain)));
  const std::ptrdiff_t count =
      is_left_out(Layer::cpuset) ? std::ssize(bounds_.cpus) : std::ptrdiff_t{request.limits.cpus};
  const std::vector<int> cpus(bounds_.cpus.begin(), bounds_.cpus.begin() + count);
  if (landlock_abi() == 0) parts.gaps.emplace_back(kLandlockGap);
  for (std::string& gap : TRY(parts.ready->group.apply(request.limits, cpus, parts.gpus))) {
    if (std::ranges::find(bounds_.gaps_allowed, gap) == bounds_.gaps_allowed.end())
      return os::fail(os::Code::unavailable, "this host cannot enforce " + gap);
    parts.gaps.push_back(std::move(gap));
  }
  return {};
}

os::Result<void> Jail::prepare(const RunRequest& request, std::vector<ExtraView> extra,
                               RunParts& parts) {
  parts.views = std::move(extra);
  parts.order.request = &request;
  parts.order.seccomp = TRY(policy(request.profile));
  parts.order.arguments = pointers(request.command);
  parts.order.environment = pointers(request.environment);
  TRY(prepare_places(request, parts));
  if (request.gpus) TRY(prepare_gpus(request, parts));
  TRY(prepare_mounts(request, parts));
  TRY(prepare_limits(request, parts));
  Ready& ready = *parts.ready;
  if (ready.launch != nullptr) return {};
  ready.launch = Launch::cold(TRY(place_of(request.domain, ready)), TRY(spare_stacks_.take()));
  return {};
}

os::Result<void> Jail::check_places(const RunRequest& request) {
  const auto workspace = workspaces_.find(request.workspace);
  if (request.mode != WorkspaceMode::none && workspace == workspaces_.end())
    return os::fail(os::Code::not_found, "no workspace " + request.workspace);
  if (request.mode != WorkspaceMode::none && workspace->second.domain() != request.domain)
    return os::fail(os::Code::invalid, "domain: not that of the workspace");
  for (const Mount& mount : request.mounts)
    if (mount.source == MountSource::repository && !stage_.grants().repository.is_open())
      return os::fail(os::Code::invalid, "mounts: this jail was given no repository");
  if (!run_ids_.insert(request.id).second)
    return os::fail(os::Code::conflict, "run " + request.id + " exists");
  return {};
}

os::Result<RunResult> Jail::run(const RunRequest& request, std::vector<ExtraView> extra) {
  std::vector<const RunRequest*> requests{&request};
  for (const RunRequest& other : request.beside) requests.push_back(&other);
  for (const RunRequest* const each : requests) TRY(check_places(*each));
  TRY(settle());
  std::vector<RunResult> results(requests.size());
  for (const RunRequest* const each : requests) {
    RunParts& parts = *ended_.emplace_back(std::make_unique<RunParts>());
    parts.path = "runs/" + each->id;
    const os::Result<void> prepared = prepare(*each, std::move(extra), parts);
    extra.clear();
    if (prepared) continue;
    for (RunResult& result : results)
      result.outcome = Outcome::setup_failed(step_of(prepared.error()), prepared.error().sys_errno);
    return with_others(std::move(results));
  }
  if (requests.size() == 1) {
    TRY(execute(request, *ended_.front(), results.front()));
  } else {
    TRY(execute_both(requests, results));
  }
  if (results.front().outcome.kind != OutcomeKind::setup_failed) last_domain_ = request.domain;
  return with_others(std::move(results));
}

os::Result<void> Jail::settle() {
  const std::vector<std::unique_ptr<RunParts>> ended = std::move(ended_);
  ended_.clear();
  os::Result<void> done;
  for (const std::unique_ptr<RunParts>& parts : ended)
    if (os::Result<void> released = release(*parts); !released && done) done = std::move(released);
  return done;
}

os::Result<void> Jail::release(RunParts& parts) {
  if (parts.ready) {
    if (parts.ready->launch != nullptr) spare_stacks_.give(parts.ready->launch->end());
    TRY_CONTEXT(parts.ready->group.remove(), parts.path);
  }
  if (parts.workspace != nullptr) {
    // They would hold the file system that is to be unmounted.
    parts.workspace_directory.close();
    parts.workspace_mount.close();
    parts.file_system.close();
    TRY(parts.workspace->end_scratch());
  }
  return {};
}

os::Result<Execution> Jail::start_command(const RunRequest& request, RunParts& parts) {
  return Execution::start(std::move(parts.order), spaces_.outside(request.domain, kInnerUid),
                          {request, parts.ready->group, client_, *parts.ready->launch});
}

os::Result<void> Jail::open_recording(const RunRequest& request, RunParts& parts) {
  parts.directory = TRY_CONTEXT(make_run_directory(request.id), "run " + request.id);
  parts.output = TRY(Output::create(parts.directory.get(), owner(), request.limits.keep));
  if (!request.separate_error_output) return {};
  parts.errors_directory = TRY(create_owned_directory(parts.directory.get(), "stderr", owner()));
  parts.errors = TRY(Output::create(parts.errors_directory.get(), owner(), request.limits.keep));
  return {};
}

os::Result<void> Jail::execute(const RunRequest& request, RunParts& parts, RunResult& result) {
  Execution execution = TRY(start_command(request, parts));
  // The command runs already: what it prints waits in its pipe until there is a place for it.
  TRY(open_recording(request, parts));
  const Ending ending =
      TRY(execution.watch(*parts.output, parts.errors ? &*parts.errors : nullptr));
  return finish(request, parts, ending, result);
}

os::Result<void> Jail::execute_both(const std::vector<const RunRequest*>& requests,
                                    std::vector<RunResult>& results) {
  std::array<Joint, 2> joints{TRY(make_joint()), TRY(make_joint())};
  std::vector<Execution> executions;
  executions.reserve(2);
  for (std::size_t i = 0; i < 2; ++i) {
    ended_[i]->order.input = joints[i].read.get();
    ended_[i]->order.answer = joints[1 - i].write.get();
    executions.push_back(TRY(start_command(*requests[i], *ended_[i])));
  }
  // Ours would keep either from seeing that the other has ended.
  for (Joint& joint : joints) joint = {};
  for (std::size_t i = 0; i < 2; ++i) TRY(open_recording(*requests[i], *ended_[i]));
  const auto joined = [&](std::size_t i) {
    RunParts& parts = *ended_[i];
    return Execution::Joined{executions[i], *parts.output, parts.errors ? &*parts.errors : nullptr};
  };
  const std::array<Ending, 2> endings = TRY(Execution::watch_both({joined(0), joined(1)}));
  for (std::size_t i = 0; i < 2; ++i) TRY(finish(*requests[i], *ended_[i], endings[i], results[i]));
  return {};
}

os::Result<void> Jail::finish(const RunRequest& request, RunParts& parts, const Ending& ending,
                              RunResult& result) {
  TRY(parts.output->finish());
  if (parts.errors) TRY(parts.errors->finish());
  beginning_ = parts.output->beginning();
  result.output_bytes = parts.output->total_bytes();
  result.head_bytes = parts.output->head_bytes();
  result.tail_bytes = parts.output->tail_bytes();
  const CgroupStats stats = TRY(parts.ready->group.stats());
  const Limits& limits = request.limits;
  result.outcome = outcome_of(ending, stats);
  result.usage = usage_of(ending, stats);
  result.usage.cpu_us = TRY(parts.ready->group.cpu_time_us());
  note_forced(ending, limits, result.output_bytes, stats, result.limits_hit);
  if (stats.oom_kills > 0)
    result.limits_hit.push_back(
        {"memory", stats.memory_peak, static_cast<std::int64_t>(limits.memory.count)});
  if (stats.pids_denied > 0)
    result.limits_hit.push_back({"pids", std::max(stats.pids_peak, limits.pids), limits.pids});
  bool disk = ending.ended && ending.ended->disk_full != 0;
  bool inodes = ending.ended && ending.ended->inodes_full != 0;
  note_full(parts.file_system.get(), disk, inodes);
  note_full(parts.out_mount.get(), disk, inodes);
  const auto size = static_cast<std::int64_t>(limits.disk.count);
  const auto shm = static_cast<std::int64_t>(limits.shm.count);
  if (disk) result.limits_hit.push_back({"disk", size, size});
  if (ending.ended && ending.ended->shm_full != 0) result.limits_hit.push_back({"shm", shm, shm});
  if (inodes) result.limits_hit.push_back({"inodes", limits.inodes, limits.inodes});
  std::ranges::sort(parts.gaps);
  parts.gaps.erase(std::ranges::unique(parts.gaps).begin(), parts.gaps.end());
  const auto is_weaker = [](const std::string& gap) {
    return gap != kIdmapGap && gap != kLandlockGap;
  };
  result.level = std::ranges::any_of(parts.gaps, is_weaker) ? "reduced" : "full";
  result.gaps = parts.gaps;
  if (ending.failed) return {};
  os::Fd out;
  if (!parts.out.empty()) out = TRY(os::open_file(parts.out, O_RDONLY | O_DIRECTORY));
  result.collected = TRY(collect(request.collect, {parts.workspace_directory.get(), out.get()},
                                 parts.directory.get(), parts.path, owner()));
  return {};
}

}  // namespace sandbox::jail
