// LocalExecutor: the Executor that speaks with `proofhouse executor` on this machine.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runner/executor/executor.h"
#include "runner/executor/protocol.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"

namespace runner {

// Safe to call from several threads: one reader thread takes answers and changes off the socket.
// When the executor is gone every call answers unavailable.
class LocalExecutor : public Executor {
 public:
  // Over a connected stream socket.
  static std::unique_ptr<LocalExecutor> over(os::Fd socket);
  // Connects to a running executor's unix socket.
  static os::Result<std::unique_ptr<LocalExecutor>> connect(const std::string& path);

  ~LocalExecutor() override;

  os::Result<ExecutorProbe> probe() override;
  os::Result<void> start(const AttemptStart& start) override;
  os::Result<std::vector<AttemptStatusReport>> list() override;
  os::Result<void> cancel(const tasks::AttemptId& attempt, std::int64_t fence,
                          std::chrono::milliseconds grace) override;
  os::Result<void> remove(const tasks::AttemptId& attempt, std::int64_t fence) override;
  os::Result<void> set_gpu_cordon(const std::string& uuid, bool is_cordoned,
                                  const std::string& reason) override;
  os::Result<std::vector<AttemptStatusReport>> wait_changes(
      std::chrono::milliseconds wait) override;
  // False once the executor's end of the socket is closed.
  bool is_connected() const;

 private:
  explicit LocalExecutor(os::Fd socket);
  os::Result<ExecutorAnswer> call(ExecutorCall call);
  void read_socket();
  void take(ExecutorAnswer answer);

  os::Fd socket_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::int64_t, ExecutorAnswer> answers_;
  std::vector<AttemptStatusReport> changes_;
  std::int64_t next_id_ = 1;
  bool closed_ = false;
  std::jthread reader_;
};

}  // namespace runner
