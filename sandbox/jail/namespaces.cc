#include "sandbox/jail/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>

namespace sandbox::jail {
namespace {

// Runs in the memory of the jail: does nothing but system calls that cannot fail.
int hold(void* /*unused*/) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) ::pause();
}

os::Result<void> write_proc(pid_t pid, const char* name, const std::string& text) {
  const os::Fd file = TRY(os::open_file(fmt::format("/proc/{}/{}", pid, name), O_WRONLY));
  TRY_CONTEXT(os::write_all(file.get(), text), name);
  return {};
}

std::string line(const IdMapping& map) {
  return fmt::format("{} {} {}\n", map.inside, map.outside, map.count);
}

os::Result<os::Fd> map_and_open(pid_t holder, const IdMapping& uids, const IdMapping& gids) {
  TRY(write_proc(holder, "setgroups", "deny"));
  TRY(write_proc(holder, "gid_map", line(gids)));
  TRY(write_proc(holder, "uid_map", line(uids)));
  return os::open_file(fmt::format("/proc/{}/ns/user", holder), O_RDONLY);
}

}  // namespace

os::Result<os::Fd> make_user_namespace(const IdMapping& uids, const IdMapping& gids) {
  alignas(16) std::array<char, 16U << 10U> stack{};
  const pid_t holder =
      ::clone(hold, stack.data() + stack.size(), CLONE_VM | CLONE_NEWUSER | SIGCHLD, nullptr);
  if (holder < 0) return os::fail_errno("clone into a user namespace");
  os::Result<os::Fd> space = map_and_open(holder, uids, gids);
  ::kill(holder, SIGKILL);
  while (::waitpid(holder, nullptr, 0) < 0 && errno == EINTR) continue;
  return space;
}

os::Result<int> UserNamespaces::sandbox(Domain domain) {
  const auto known = sandboxes_.find(domain);
  if (known != sandboxes_.end()) return known->second.get();
  const IdRange& range = ranges_.at(static_cast<std::size_t>(domain));
  const IdMapping map{0, range.start, range.count};
  return sandboxes_.emplace(domain, TRY(make_user_namespace(map, map))).first->second.get();
}

os::Result<int> UserNamespaces::workspace(Domain domain, std::uint32_t uid, std::uint32_t gid) {
  const std::tuple key{domain, uid, gid};
  const auto known = workspaces_.find(key);
  if (known != workspaces_.end()) return known->second.get();
  const std::uint32_t user = outside(domain, kInnerUid);
  return workspaces_.emplace(key, TRY(make_user_namespace({uid, user, 1}, {gid, user, 1})))
      .first->second.get();
}

std::uint32_t UserNamespaces::outside(Domain domain, std::uint32_t inner) const {
  return ranges_.at(static_cast<std::size_t>(domain)).start + inner;
}

}  // namespace sandbox::jail
