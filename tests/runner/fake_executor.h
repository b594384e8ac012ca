// An Executor without jails: it takes changes in with the real code of ingest, in this process, and
// answers attempts that verify from a script. It leaves the files that a real attempt leaves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runner/executor/executor.h"
#include "tests/support/evidence_builder.h"

namespace tests {

// What the machine does; outlives a service, as real attempts outlive serve.
class FakeMachine {
 public:
  enum class Ending { completes, keeps_running, ends_without_result, has_fault };

  explicit FakeMachine(std::string data) : data_(std::move(data)) {}

  // Set before anything starts.
  runner::ExecutorProbe probe{.version = "fake",
                              .features = {},
                              .missing = {},
                              .cpus = {0, 1},
                              .memory = os::Bytes{4ULL << 30U},
                              .gpus = {},
                              .gpu_problem = {},
                              .environment_sha256 = std::string(64, 'e'),
                              .level = "full"};
  // How the nth attempt that verifies (from 1) ends, and what its steps do.
  std::function<Ending(int)> ending = [](int) { return Ending::completes; };
  std::function<void(ScriptedTask&)> script = [](ScriptedTask&) {};

  std::unique_ptr<runner::Executor> executor();

  // Whether attempts keep the base's build, as real ones do.
  bool keeps_layers = false;

  int verified() const;  // attempts that verify, started so far
  int ingested() const;
  // Runs of the base that attempts were given, in all.
  int carried() const;
  // Ends an attempt that keeps running, with a result.
  void finish_running();
  // The executor forgets all attempts, without a trace of their end.
  void forget_all();
  void set_down(bool is_down);

 private:
  friend class FakeExecutor;
  os::Result<void> start(const runner::AttemptStart& start);
  os::Result<void> take_in(const tasks::Plan& plan, const std::string& directory,
                           const std::string& repository);
  os::Result<void> publish_trees(const std::string& written) const;
  os::Result<void> carry(const tasks::Plan& plan, const std::string& directory,
                         tasks::Evidence& evidence);
  os::Result<void> verify(const tasks::Plan& plan, const std::string& directory, bool has_fault);
  void note(const runner::AttemptStart& start, runner::AttemptState state);
  std::string path_of(const std::string& attempt, std::int64_t fence) const;

  std::string data_;
  mutable std::mutex mutex_;
  std::map<std::string, runner::AttemptStatusReport> known_;
  std::vector<runner::AttemptStatusReport> changes_;
  std::vector<runner::AttemptStart> running_;
  int verified_ = 0;
  int ingested_ = 0;
  int carried_ = 0;
  bool is_down_ = false;
};

}  // namespace tests
