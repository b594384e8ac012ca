// Failpoints: named places at which a test ends the program, to prove that nothing is lost there.
#pragma once

#include <string_view>

namespace os {

// Where a program can be told to die. Armed by the environment variable PROOFHOUSE_FAILPOINT, a
// comma-separated list of `name` (SIGKILL to the own process there) or `name:pause=FILE` (creates
// FILE, then stops with SIGSTOP so that a test can kill any role at that instant and continue the
// others). `name:once=FILE` acts only if FILE does not exist yet, and creates it first: a restarted
// program with the same environment then passes. Both may be given: `name:once=F:pause=G`.
// Not armed, a failpoint costs one check of a cached flag.
void failpoint(std::string_view name);

}  // namespace os
