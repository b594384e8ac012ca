// GitServer: repositories served by git's own daemon, behind a proxy that cuts pushes off.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"

namespace tests {

// Serves the repositories in a directory on loopback, for reading and writing; ends with the
// object. Failures of the machinery throw std::runtime_error.
class GitServer {
 public:
  explicit GitServer(const std::string& directory);

  // "git://127.0.0.1:<port>/<name>"
  std::string url(const std::string& name) const;
  // What happens to the pushes to come, one step each: see tests/support/cutting_proxy.py.
  void plan(const std::vector<std::string>& steps) const;
  // Steps that no push has taken yet.
  std::size_t planned() const;
  // Bytes that a push sent and got.
  struct Traffic {
    long up = 0;
    long down = 0;
  };
  // Of the `number`th push (from 0); waits until it has ended.
  Traffic push(std::size_t number) const;

 private:
  os::TempDir place_;
  std::optional<os::ChildProcess> daemon_, proxy_;
  std::string port_;
};

// `count` cuts of a push with that traffic: half of them spread over what it sends, half over what
// it gets, each with the first and the last byte.
std::vector<std::string> spread_cuts(const GitServer::Traffic& whole, int count);

}  // namespace tests
