#include "tests/sandbox/jail_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sandbox/cgroup.h"
#include "sandbox/os/ids.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

// Where a jail makes ranges of its slot: one for each domain.
constexpr std::uint32_t kIdsPerDomain = 16'000;

os::Fd open_directory(const std::string& path) {
  if (path.empty()) return {};
  os::Result<os::Fd> opened = os::open_file(path, O_PATH | O_DIRECTORY);
  EXPECT_TRUE(opened.has_value()) << path;
  return opened ? std::move(*opened) : os::Fd();
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

void JailTest::SetUp() {
  REQUIRE_CAPABILITY(root);
  REQUIRE_CAPABILITY(userns);
  REQUIRE_CAPABILITY(overlayfs);
  REQUIRE_CAPABILITY(cgroup);
  REQUIRE_CAPABILITY(seccomp);
  REQUIRE_BUILT(program_path("jail"));
  os::Result<os::TempDir> made = os::TempDir::create("jail-test");
  ASSERT_OK(made);
  directory.emplace(std::move(*made));
  os::Result<sandbox::IdSlot> taken = sandbox::IdSlot::take();
  ASSERT_OK(taken);
  slot.emplace(std::move(*taken));
  cgroup_prefix = "proofhouse-" + os::random_hex(4);
  bounds.attempt = "attempt";
  bounds.cgroup = cgroup_prefix + "/attempt";
  for (std::uint32_t n = 0; n < 4; ++n)
    bounds.ids.push_back({slot->range().start + n * kIdsPerDomain, kIdsPerDomain});
  bounds.attempt_uid = slot->outside_uid();
  bounds.attempt_gid = slot->outside_uid();
  bounds.cpus = sandbox::available_cpus();
  bounds.memory = os::Bytes{2ULL << 30U};
  attempt = *directory / "attempt";
  trees = *directory / "trees";
  layers = *directory / "layers";
  for (const std::string& path : {attempt, trees, layers}) ::mkdir(path.c_str(), 0700);
  ASSERT_EQ(::chown(attempt.c_str(), bounds.attempt_uid, bounds.attempt_gid), 0);
}

void JailTest::start() { client = std::make_unique<sandbox::JailClient>(launch()); }

os::Fd JailTest::launch() {
  os::Result<std::array<os::Fd, 2>> pair = os::seqpacket_pair();
  EXPECT_TRUE(pair.has_value());
  if (!pair) return {};
  const os::Fd attempt_fd = open_directory(attempt);
  const os::Fd trees_fd = open_directory(trees);
  const os::Fd layers_fd = open_directory(layers);
  const os::Fd repository_fd = open_directory(repository);
  const os::Fd lower_fd = open_directory(lower);
  const os::Fd grants_fd = open_directory(grants);
  const os::Fd programs_fd = open_directory(programs);
  sandbox::JailStart start;
  start.program = program.empty() ? program_path("jail").string() : program;
  start.bounds = bounds;
  start.attempt_directory = attempt_fd.get();
  start.trees = trees_fd.get();
  start.layers = layers_fd.get();
  start.repository = repository_fd.get();
  start.directory = lower_fd.get();
  start.programs = programs_fd.get();
  start.grants = grants_fd.get();
  start.standard_error = STDERR_FILENO;
  start.held = held;
  os::Result<os::ChildProcess> started = sandbox::start_jail(start, (*pair)[1].get());
  EXPECT_TRUE(started.has_value()) << started.error().message;
  if (started) jail.emplace(std::move(*started));
  return std::move((*pair)[0]);
}

os::ExitStatus JailTest::end() {
  client.reset();
  const os::Result<os::ExitStatus> status = jail->wait(std::chrono::seconds(30));
  EXPECT_TRUE(status.has_value()) << "the jail still runs";
  return status.value_or(os::ExitStatus{-1, 0});
}

void JailTest::TearDown() {
  if (jail && client != nullptr) {
    const os::ExitStatus status = end();
    EXPECT_TRUE(status.is_success()) << status.code << " " << status.signal;
  }
  if (cgroup_prefix.empty()) return;
  const os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  ASSERT_OK(host);
  const os::Result<std::vector<std::string>> left = host->list(cgroup_prefix);
  ASSERT_OK(left);
  EXPECT_TRUE(left->empty()) << left->front();
}

sandbox::RunRequest JailTest::request(const std::string& id, const std::string& script) const {
  sandbox::RunRequest run;
  run.id = id;
  run.command = {"/bin/sh", "-euc", script};
  run.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/build", "TMPDIR=/tmp",
                     "LANG=C.UTF-8", "TZ=UTC"};
  run.limits.memory = os::Bytes{1ULL << 30U};
  run.limits.disk = os::Bytes{64U << 20U};
  run.limits.wall = std::chrono::seconds(60);
  return run;
}

sandbox::RunResult JailTest::run(const sandbox::RunRequest& request) {
  if (client == nullptr) start();
  if (client == nullptr) return {};
  os::Result<sandbox::RunResult> result = client->run(request);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(sandbox::RunResult{});
}

sandbox::RunResult JailTest::run(const std::string& id, const std::string& script) {
  return run(request(id, script));
}

std::string JailTest::print(const std::string& id, const std::string& script) {
  const sandbox::RunResult result = run(id, script);
  EXPECT_TRUE(result.outcome.is_success()) << describe(result.outcome) << "\n" << head(id);
  return head(id);
}

std::string JailTest::file(const std::string& path) const {
  return os::read_file(attempt + "/" + path).value_or("(none)");
}

std::string JailTest::head(const std::string& id) const { return file("runs/" + id + "/head"); }

std::string JailTest::make_tree(
    char digit, const std::vector<std::pair<std::string, std::string>>& files) const {
  const std::string id(40, digit);
  ::mkdir((trees + "/" + id).c_str(), 0755);
  for (const auto& [name, text] : files) write_file(trees + "/" + id + "/" + name, text);
  return id;
}

void JailTest::open_workspace(const sandbox::WorkspaceRequest& request) {
  if (client == nullptr) start();
  ASSERT_NE(client, nullptr);
  ASSERT_OK(client->open_workspace(request));
}

}  // namespace tests
