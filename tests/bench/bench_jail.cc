#include "tests/bench/bench_jail.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "sandbox/os/ids.h"
#include "tests/support/programs.h"

namespace bench {
namespace {

// A range for each domain, all of one slot.
constexpr std::uint32_t kIdsPerDomain = 16'000;

}  // namespace

os::Result<std::unique_ptr<BenchJail>> BenchJail::start(sandbox::Ahead ahead,
                                                        const std::string& prefix) {
  std::unique_ptr<BenchJail> jail(
      new BenchJail(TRY(os::TempDir::create("proofhouse-bench")), TRY(sandbox::IdSlot::take())));
  sandbox::JailStart request;
  request.program = tests::program_path("jail");
  sandbox::Bounds& bounds = request.bounds;
  for (std::uint32_t domain = 0; domain < 4; ++domain)
    bounds.ids.push_back({jail->slot_.range().start + domain * kIdsPerDomain, kIdsPerDomain});
  bounds.attempt = "bench";
  bounds.cgroup = prefix + "/" + os::random_hex(4);
  bounds.cpus = sandbox::available_cpus();
  bounds.memory = os::Bytes{1ULL << 30U};
  bounds.ahead = ahead;
  jail->cgroup_ = bounds.cgroup;
  const std::string attempt = jail->directory_ / "attempt";
  TRY(os::make_directories(attempt, 0700));
  TRY(os::make_directories(jail->trees(), 0755));
  const os::Fd attempt_directory = TRY(os::open_file(attempt, O_PATH | O_DIRECTORY));
  const os::Fd trees = TRY(os::open_file(jail->trees(), O_PATH | O_DIRECTORY));
  request.attempt_directory = attempt_directory.get();
  request.trees = trees.get();
  const std::string guests = tests::guest_path("nothing").parent_path();
  const os::Result<os::Fd> programs = os::open_file(guests, O_PATH | O_DIRECTORY);
  if (programs) request.programs = programs->get();
  auto [ours, theirs] = TRY(os::seqpacket_pair());
  jail->process_ =
      std::make_unique<os::ChildProcess>(TRY(sandbox::start_jail(request, theirs.get())));
  jail->client_ = std::make_unique<sandbox::JailClient>(std::move(ours));
  return jail;
}

sandbox::RunRequest BenchJail::empty_request() {
  sandbox::RunRequest request;
  request.command = {kCommand};
  request.environment = {"PATH=/usr/bin"};
  // As many as what it is compared with may use.
  request.limits.cpus = static_cast<int>(sandbox::available_cpus().size());
  request.limits.memory = os::Bytes{256U << 20U};
  request.limits.disk = os::Bytes{64U << 20U};
  return request;
}

os::Result<sandbox::RunResult> BenchJail::run(sandbox::RunRequest request, int cancel_fd) {
  request.id = "r" + std::to_string(count_++);
  return client_->run(request, cancel_fd);
}

os::Result<void> BenchJail::run_empty() {
  const sandbox::RunResult result = TRY(run(empty_request()));
  if (!result.outcome.is_success())
    return os::fail(os::Code::internal, sandbox::describe(result.outcome));
  return {};
}

// A request that is refused is answered when what came before it is done. What is made ahead is
// made after the first answer and before the second.
os::Result<void> BenchJail::settle() {
  for (int i = 0; i < 2; ++i) {
    const os::Result<void> refused = client_->open_workspace(sandbox::WorkspaceRequest());
    if (refused || refused.error().code != os::Code::invalid)
      return os::fail(os::Code::internal, "the jail does not answer as it should");
  }
  return {};
}

os::Result<void> BenchJail::open_workspace(const std::string& tree) {
  sandbox::WorkspaceRequest request;
  request.name = "w" + std::to_string(count_++);
  request.tree = tree;
  request.disk = os::Bytes{256U << 20U};
  return client_->open_workspace(request);
}

os::Result<void> BenchJail::close() {
  client_.reset();
  const os::ExitStatus status = TRY(process_->wait(std::chrono::seconds(30)));
  if (!status.is_success()) return os::fail(os::Code::internal, "the jail did not end well");
  return {};
}

}  // namespace bench
