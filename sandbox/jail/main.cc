// jail: runs the commands of one attempt, each in a sandbox of its own, and nothing else.
//
// Rights: root. Started by an executor with the descriptors of sandbox/request.h: a socket to its
// attempt, its Bounds in a sealed memory file, the attempt's directory, and whichever of trees/,
// layers/, repository, directory, programs the attempt is to have. Before it reads a request it
// leaves the host: its own root holds these directories, the host paths that commands are shown,
// /proc and the cgroup hierarchies (jail/stage.h). Requests hold names, opened beneath what was
// given; whatever is asked, nothing outside of the bounds is reached.
//
// It reads Requests (one JSON packet each) and answers each with one Reply, in order; a request
// that is wrong is answered `invalid` and changes nothing. It writes only below the attempt's
// directory (runs/<id>/), trees/ and layers/, and to its cgroup.
//
// A command, as the jail makes it:
//   1. a cgroup with its limits; what the host cannot enforce is an error unless the bounds allow
//      that very gap, and then every result names it
//   2. new pid, mount, ipc, uts, network and cgroup namespaces, the user namespace of its domain
//      last: the host's user 0 is never mapped
//   3. process 1 is a supervisor of ours (jail/supervisor.h); it dies with the jail. It borrows the
//      jail's memory, so that nothing is copied, and has no right and a filter of its own
//   4. a read-only root from an explicit list (mount_plan.h); /workspace an overlay; /proc fresh
//      and masked, /dev five devices, /tmp, /dev/shm, HOME private and sized; each mount read back
//   5. lockdown (jail/lockdown.h): user 1000, no capabilities, no_new_privs, rlimits, seccomp,
//      descriptors 0 to 2 only
//   6. it ends with its first process, a deadline or a limit; then everything in its cgroup is
//      killed, what it printed is read, what was asked for is collected, the result told; only
//      then are cgroup and namespaces removed
// Two commands may run at the same time, each as above, joined by two pipes: what one prints the
// other reads. When the first has ended, the second has a few seconds left.
//
// While it waits for a request it makes 1 to 3 ahead, for one more command of the last one's domain
// (Bounds::ahead, jail/ready.h).
//
// The jail ends when its socket closes, or by SIGTERM: it kills what runs and removes its cgroups
// first. If it is killed itself, every process 1 dies with it; the groups are left for the sweep.
// Exit status: 0 after such an end, 1 when it could not start or clean up (one line on stderr).
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include "sandbox/jail/jail.h"

namespace {

// A descriptor 0 to 2 that is closed would become something of ours.
bool has_standard_descriptors() {
  for (int number = 0; number <= 2; ++number)
    if (::fcntl(number, F_GETFD) < 0) return false;
  return true;
}

// Memory once used is kept: for the next request its pages would have to be got again.
void keep_memory() {
  constexpr int kKept = 4 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

os::Result<void> run() {
  keep_memory();
  if (!has_standard_descriptors())
    return os::fail(os::Code::invalid, "descriptors 0 to 2 have to be open");
  const std::unique_ptr<sandbox::jail::Jail> jail = TRY(sandbox::jail::Jail::start());
  return jail->serve();
}

}  // namespace

int main() {
  const os::Result<void> done = run();
  if (done) return 0;
  std::fprintf(stderr, "jail: %s\n", done.error().message.c_str());
  return 1;
}
