// Peers: other programs that run one command in a sandbox, each set up to isolate as much as it
// can on this host. Needs root.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sandbox/os/files.h"

namespace bench {

// One way to run the empty command, started and waited for by `run`.
struct Peer {
  std::string name;
  std::string isolates;
  std::string absent;  // why it cannot be measured; empty: it can
  std::function<os::Result<void>()> run;
};

// Starts a program with posix_spawn(3), output to /dev/null, and waits; anything but 0 is an error.
os::Result<void> spawn_and_wait(const std::vector<std::string>& command);

// bubblewrap, crun, runc, firejail, systemd-nspawn. `directory` takes what they need (a bundle, an
// empty root) and has to outlive them. Each is tried once.
os::Result<std::vector<Peer>> find_peers(const std::string& directory);

}  // namespace bench
