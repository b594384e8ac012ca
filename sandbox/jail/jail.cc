#include "sandbox/jail/jail.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox/ablation.h"
#include "sandbox/jail/lockdown.h"
#include "sandbox/jail/validate.h"
#include "sandbox/wire.h"

namespace sandbox::jail {
namespace {

constexpr std::size_t kMostBoundsBytes = 1U << 20U;
// Descriptors of the jail itself: few, but a copied layer may hold some hundred.
constexpr rlim_t kDescriptors = 4096;

// The bounds must come from whoever started the jail: a sealed file cannot have been changed since.
os::Result<Bounds> read_bounds() {
  const os::Fd file(kBoundsFd);
  const int seals = ::fcntl(kBoundsFd, F_GET_SEALS);
  if (seals < 0) return os::fail_errno("no sealed bounds were given at descriptor 65");
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if ((seals & kNeeded) != kNeeded) return os::fail(os::Code::denied, "the bounds are not sealed");
  if (::lseek(kBoundsFd, 0, SEEK_SET) != 0) return os::fail_errno("read bounds");
  Bounds bounds = TRY(decode_bounds(TRY(os::read_all(kBoundsFd, kMostBoundsBytes))));
  TRY(validate(bounds));
  return bounds;
}

os::Result<void> set_own_limits() {
  const rlimit files{kDescriptors, kDescriptors};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return os::fail_errno("set resource limits");
  return is_left_out(Layer::rlimits) ? os::Result<void>() : limit_core_files();
}

// Whatever whoever started us ignores: commands inherit it from us.
void restore_default_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
}

}  // namespace

Jail::Jail(Bounds bounds, Client client, CgroupHost cgroups, Cgroup group, Stage stage)
    : bounds_(std::move(bounds)),
      client_(std::move(client)),
      cgroups_(std::move(cgroups)),
      group_(std::move(group)),
      stage_(std::move(stage)),
      spaces_(bounds_.ids),
      views_(spaces_, bounds_.memory) {}

os::Result<std::unique_ptr<Jail>> Jail::start() {
  TRY(set_own_limits());
  restore_default_signals();
  Client client = TRY(Client::take());
  Bounds bounds = TRY_CONTEXT(read_bounds(), "bounds");
  CgroupHost cgroups = TRY(CgroupHost::detect());
  Stage stage = TRY(Stage::enter(bounds, cgroups));
  Cgroup group = TRY(Cgroup::create(cgroups, bounds.cgroup));
  return std::unique_ptr<Jail>(new Jail(std::move(bounds), std::move(client), std::move(cgroups),
                                        std::move(group), std::move(stage)));
}

os::Result<void> Jail::serve() {
  while (const std::optional<Request> request = client_.next()) {
    answer(*request);
    TRY(settle());
    // A sandbox that cannot be made now is made when it is asked for, and the error is told then.
    if (last_domain_ && client_.is_idle() && !get_ready(*last_domain_)) last_domain_.reset();
  }
  ready_.clear();
  TRY(group_.kill_all());
  return group_.remove();
}

void Jail::answer(const Request& request) {
  const auto reply = [this](const auto& one) -> Reply {
    using Type = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<Type, CancelRequest>) {
      return {};
    } else if constexpr (std::is_same_v<Type, RunRequest>) {
      os::Result<RunResult> result = handle(one);
      if (!result) return {result.error(), std::nullopt};
      return {std::nullopt, std::move(*result)};
    } else {
      const os::Result<void> done = handle(one);
      if (!done) return {done.error(), std::nullopt};
      return {};
    }
  };
  client_.answer(std::visit(reply, request));
}

os::Result<void> Jail::handle(const WorkspaceRequest& request) {
  TRY(validate(request, bounds_));
  if (workspaces_.contains(request.name))
    return os::fail(os::Code::conflict, "workspace " + request.name + " exists");
  const Grants& grants = stage_.grants();
  if (!request.tree.empty() && !grants.trees.is_open())
    return os::fail(os::Code::invalid, "tree: this jail was given no trees");
  if (!request.layer.empty() && !grants.layers.is_open())
    return os::fail(os::Code::invalid, "layer: this jail was given no layers");
  if (request.directory && !grants.directory.is_open())
    return os::fail(os::Code::invalid, "directory: this jail was given none");
  workspaces_.emplace(request.name, TRY_CONTEXT(Workspace::open(request, grants, views_, spaces_),
                                                "workspace " + request.name));
  return {};
}

os::Result<RunResult> Jail::handle(const RunRequest& request) {
  TRY(validate(request, bounds_));
  return run(limits_left(request), {});
}

}  // namespace sandbox::jail
