// A service on a temporary data directory with a real repository, for tests.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runner/service_core.h"
#include "sandbox/os/files.h"
#include "tests/runner/fake_executor.h"

namespace tests {

// Runs a command line with sh and gives what it printed; ends the test program when it fails.
std::string shell(const std::string& command);

// A bare repository with one commit: src/a.txt, tests/t.txt, proofhouse.yaml.
class SampleRepository {
 public:
  explicit SampleRepository(std::string directory);
  // "<directory>/origin.git"
  const std::string& path() const { return path_; }
  std::string tip() const;
  // A patch that writes `text` to `file`, on the tip.
  std::string patch(const std::string& file, const std::string& text) const;
  // Moves the target by a commit that writes `text` to `file`; the new tip.
  std::string advance(const std::string& file, const std::string& text) const;

 private:
  std::string directory_;
  std::string path_;
};

// Principals: admin; "author" (agent, of owner "alice"); "alice" (owner and reviewer);
// "bob" (reviewer); "carol" (owner).
class House {
 public:
  House();
  // Ends the service and opens it anew on the same data; attempts go on.
  void restart();

  runner::Actor actor(const std::string& name);
  runner::Submission submission(const std::string& file = "src/a.txt",
                                const std::string& text = "changed\n");
  // Submits as author; fails the test on a refusal.
  runner::TaskView submit(const runner::Submission& submission);
  // Waits until the task is in `state` or done; at most 20 s.
  runner::TaskView wait_for(const std::string& task, runner::TaskState state);
  runner::Answer<runner::TaskView> approve(const std::string& who, const runner::TaskView& task);

  os::TempDir directory;
  std::string data;
  SampleRepository repository;
  FakeMachine machine;
  runner::Config config;
  std::unique_ptr<runner::ServiceCore> core;

 private:
  void open();
};

}  // namespace tests
