// The attempt's side of a jail: sends requests, waits for answers.
#pragma once

#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"
#include "sandbox/request.h"

namespace sandbox {

// Talks to one jail over its socket. Not thread-safe. When the jail is gone every call answers
// unavailable; destroying the client closes the socket, upon which the jail ends all and cleans up.
class JailClient {
 public:
  explicit JailClient(os::Fd socket) : socket_(std::move(socket)) {}

  os::Result<void> open_workspace(const WorkspaceRequest& request);
  // Runs one command to its end. `cancel_fd` (borrowed, -1: none) is watched meanwhile: readable
  // means cancel. A command that failed is a value; an Error means that nothing could be tried.
  os::Result<RunResult> run(const RunRequest& request, int cancel_fd = -1);
  os::Result<void> publish_tree(const PublishRequest& request);
  os::Result<void> keep_layer(const KeepLayerRequest& request);

 private:
  os::Fd socket_;
};

// What a jail is started with; descriptors are borrowed, -1: not given.
struct JailStart {
  std::string program;  // path of `jail`
  Bounds bounds;
  int attempt_directory = -1;
  int trees = -1;
  int layers = -1;
  int repository = -1;
  int directory = -1;
  int programs = -1;
  int grants = -1;
  int standard_error = -1;
  // Locks that the jail holds for as long as it lives, whatever becomes of us: those of its ids.
  std::vector<int> held = {};
};

// Starts a jail as our child (needs root) on the given end of a socket pair.
os::Result<os::ChildProcess> start_jail(const JailStart& start, int socket);

}  // namespace sandbox
