// `proofhouse executor`: the privileged role. Owns leases of CPUs, memory and id ranges, starts
// attempts with their jails, and knows which are alive. It speaks neither HTTP nor SQL nor git and
// reads no byte that a change or a sandbox wrote: it gives directories away and takes names.
//
// Reads: requests of protocol.h from serve. Answers: protocol.h. Ends when its only client (given
// as a descriptor) closes the socket; attempts live on, and the next executor finds them by its
// records (see living.h). With a socket path it serves several clients until SIGTERM.
#pragma once

#include "runner/executor/launch.h"

namespace runner {

// Runs the loop; returns the exit code (0: the client left or SIGTERM; 3: could not start).
int run_executor(const ExecutorOptions& options);

}  // namespace runner
