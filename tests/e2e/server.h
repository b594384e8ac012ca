// Server: a real `proofhouse serve` with a data directory, a sample project and people of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/e2e/guardian.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/leftovers.h"
#include "tests/e2e/sample_repository.h"

namespace tests {

// Longer than anything takes that works, on a machine that does much else.
inline constexpr std::chrono::seconds kPatience{90};

// Asks every 5 ms until it is so; false after `limit`.
bool wait_until(const std::function<bool()>& is_so, std::chrono::milliseconds limit = kPatience);

// An attempt as the executor's record tells.
struct LivingAttempt {
  std::string attempt;
  long fence = 0;
  pid_t pid = -1;   // of the attempt
  pid_t jail = -1;  // of its jail
};

// What a command of the host printed and how it ended.
struct CommandEnd {
  int code = -1;
  std::string output;
};

// Everything lies below one directory under /tmp, whose name is the mark that its processes carry.
// Failures of the machinery throw std::runtime_error; what the product gets wrong is an EXPECT.
//
// Principals, each with a token: ada (agent), rex (reviewer), olga (owner and reviewer), ada2
// (owner, owned by ada), eve (agent of no project).
class Server {
 public:
  // `config`: further lines of serve's configuration.
  explicit Server(const std::string& config = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts serve on the data directory and waits until it is ready. `failpoints` as
  // sandbox/os/failpoint.h says.
  void start(const std::string& failpoints = {});
  // SIGTERM; the exit status of serve.
  os::ExitStatus stop();
  // SIGKILL, and waits for its end.
  void kill_serve();
  // SIGKILL to the executor; serve then ends by itself.
  void kill_executor();
  // Waits for serve to end by itself.
  void wait_for_end();
  // SIGCONT to all that is stopped.
  void resume() const;

  // 0 where there is none.
  pid_t serve_pid() const;
  pid_t executor_pid() const;
  std::vector<LivingAttempt> living() const;
  std::vector<MarkedProcess> processes() const;

  // As one of the people; "" sends no token, "admin" is the administrator.
  HttpClient as(const std::string& name) const;
  // Registers a copy of tests/examples/NAME as a project of that name; the copy's checkout, which
  // serve does not look at again.
  std::string add_example(const std::string& name) const;
  // POST /v1/tasks as ada, again while the answer is 503: a busy machine may be late.
  HttpAnswer submit(const TaskBody& body, const std::string& key = {}) const;
  // The same; the task's id. Throws unless it is taken.
  std::string post(const TaskBody& body, const std::string& key = {}) const;
  Document task(const std::string& id) const;
  // Waits until the task is in the state or done, and gives it.
  Document wait_for(const std::string& id, const std::string& state,
                    std::chrono::seconds limit = kPatience) const;
  // A decision as `name`, on what the task shows now.
  HttpAnswer decide(const std::string& name, const std::string& id,
                    const std::string& decision = "approve") const;
  // All events of a task so far.
  std::vector<StreamEvent> events(const std::string& id) const;
  // Runs the command line with a person's token, in the checkout of the sample.
  CommandEnd run(const std::string& name, const std::vector<std::string>& arguments) const;
  // Registers a project whose policy the server holds, on the sample's repository.
  void add_project(const std::string& name, const std::string& policy) const;

  // Judges every task again, ends serve, and sees that nothing is left of what it started.
  void expect_clean_end();

  SampleRepository& sample() { return *sample_; }
  const std::string& url() const { return url_; }
  std::string place() const { return place_.path(); }
  std::string data() const { return place_.path() + "/data"; }
  // The last lines of serve's log.
  std::string log() const;

 private:
  // A failpoint that is nowhere: what serve hands on to executor and attempts.
  std::string mark() const { return "unused:once=" + place() + "/unused"; }
  void make_people();
  void rejudge_all();
  void expect_free_leases() const;
  void expect_nothing_lives() const;
  void expect_no_files() const;

  os::TempDir place_;
  std::optional<Guardian> guardian_;
  std::string instance_;
  std::string url_;
  std::unique_ptr<SampleRepository> sample_;
  std::optional<os::ChildProcess> serve_;
  std::map<std::string, std::string> tokens_;
  std::set<std::string> landed_;
  int started_ = 0;
};

}  // namespace tests
