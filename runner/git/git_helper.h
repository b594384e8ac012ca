// The `git` helper (`proofhouse git-helper`): serve's only way to a repository. One process answers
// one request.
//
// Rights: serve's uid; the repositories that uid may open; the network for fetch, push and asking a
// remote. Not: jails, nor (where the kernel has Landlock) the paths that the request hides: serve's
// key, tokens and database. It starts no process and runs no hook, filter or checkout.
// Reads: one line on standard input (GitRequest, at most kMaxGitLine). Answers: one line on
// standard output (GitAnswer); ends with 0 if it could answer, also with an error, else 2. Trusted
// references only: it reads commits, their trees and the policy file's bytes (for its digest), and
// parses nothing that a change wrote. A pack that it adds was indexed strictly in a jail before.
// Bounds, set before anything is read: no core file, 256 descriptors, 600 s of CPU time, 4 GiB of
// data, 16 GiB a file. Who starts it sets the deadline: a call of the library on a damaged
// repository may never return.
#pragma once

#include "runner/git/git_protocol.h"

namespace runner {

// Reads, answers; the program's exit code.
int run_git_helper();

// Does one request. The library's session has been started.
GitAnswer answer_git_request(const GitRequest& request);

}  // namespace runner
