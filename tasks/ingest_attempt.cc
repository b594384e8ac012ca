#include "tasks/ingest_attempt.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "sandbox/os/files.h"
#include "tasks/plan.h"

namespace tasks {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kOutputLimit = 256U << 20U;

sandbox::RunRequest strict_run(std::string id, std::vector<std::string> arguments) {
  sandbox::RunRequest request;
  request.id = std::move(id);
  request.domain = sandbox::Domain::reader;
  request.profile = sandbox::Profile::strict;
  request.command = std::move(arguments);
  request.command.insert(request.command.begin(), "/proofhouse/ingest");
  request.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC", "HOME=/tmp"};
  request.limits.memory = os::Bytes{2ULL << 30U};
  request.limits.disk = os::Bytes{16ULL << 20U};
  request.limits.pids = 4;
  // Five seconds of work; a busy machine may take longer to give them.
  request.limits.cpu_time = milliseconds(5'000);
  request.limits.wall = milliseconds(20'000);
  request.limits.idle = milliseconds(0);
  request.separate_error_output = true;
  return request;
}

sandbox::Collect output_file(const std::string& name) {
  return {.name = name,
          .path = name,
          .from_out = true,
          .is_directory = false,
          .limit = os::Bytes{kOutputLimit},
          .files = 1};
}

// Moves a collected file to out/<name> beneath the attempt's directory.
os::Result<void> keep_output(int directory, const sandbox::Collected& collected) {
  const std::string target = "out/" + collected.name;
  if (::renameat(directory, collected.path.c_str(), directory, target.c_str()) != 0)
    return os::fail_errno("keep " + target);
  return {};
}

// How a run of ours failed that must not: 5 s passed, memory, a crash of the parser.
std::string failure_text(int directory, const sandbox::RunResult& result, const std::string& id) {
  std::string text = "ingest " + sandbox::describe(result.outcome);
  const os::Result<std::string> said =
      os::read_file_at(directory, "runs/" + id + "/head", std::size_t{1} << 20U);
  if (said && !said->empty()) text += ": " + said->substr(0, 500);
  return text;
}

Refusal too_much(const sandbox::RunResult& result) {
  return {.code = "too_large",
          .path = "",
          .line = 0,
          .detail = "taking the change in " + sandbox::describe(result.outcome) +
                    "; post a smaller change"};
}

os::Result<void> write_request(const Plan& plan, int directory) {
  if (::mkdirat(directory, "in", 0750) != 0 && errno != EEXIST) return os::fail_errno("make in/");
  if (::mkdirat(directory, "out", 0750) != 0 && errno != EEXIST) return os::fail_errno("make out/");
  const os::Fd in = TRY(os::open_beneath(directory, "in", O_RDONLY | O_DIRECTORY));
  // `ingest` reads the plan itself: one form, one parser.
  return os::write_file_durably_at(in.get(), "request.json", plan_to_json(plan), 0644);
}

os::Result<void> publish_trees(const IngestResult& result, const IngestSpec& spec,
                               sandbox::JailClient& jail) {
  for (const TreeId& tree : trees_of(result)) {
    if (std::ranges::find(spec.have_trees, tree) != spec.have_trees.end()) continue;
    TRY_CONTEXT(
        jail.publish_tree({.run = "take", .path = "trees/" + tree.hex(), .tree = tree.hex()}),
        "publish tree " + tree.hex());
  }
  return {};
}

os::Result<void> index_pack(sandbox::JailClient& jail, int directory, int cancel_fd) {
  sandbox::RunRequest request =
      strict_run("index", {"index-pack", "/in/candidate.pack", "/out", "/in/repo"});
  request.out = os::Bytes{kOutputLimit};
  request.mounts.push_back(
      {sandbox::MountSource::input, "out/candidate.pack", "/in/candidate.pack"});
  request.mounts.push_back({sandbox::MountSource::repository, "", "/in/repo"});
  request.collect.push_back(output_file("candidate.idx"));
  const sandbox::RunResult result = TRY(jail.run(request, cancel_fd));
  if (!result.outcome.is_success())
    return os::fail(os::Code::corrupt, failure_text(directory, result, request.id));
  for (const sandbox::Collected& collected : result.collected) {
    if (!collected.error.empty())
      return os::fail(os::Code::corrupt, collected.name + ": " + collected.error);
    TRY(keep_output(directory, collected));
  }
  return {};
}

}  // namespace

os::Result<IngestResult> ingest_change(const Plan& plan, sandbox::JailClient& jail,
                                       int attempt_directory, int cancel_fd) {
  TRY(write_request(plan, attempt_directory));
  sandbox::RunRequest request = strict_run("take", {"take", "/in/request.json"});
  request.out = os::Bytes{1ULL << 30U};
  const auto input = [&](const std::string& path, const std::string& target) {
    if (!path.empty()) request.mounts.push_back({sandbox::MountSource::input, path, target});
  };
  input("in/request.json", "/in/request.json");
  input(plan.ingest.patch_file, "/in/change.patch");
  input(plan.ingest.pack_file, "/in/objects.pack");
  input(plan.ingest.policy_file, "/in/policy.yaml");
  request.mounts.push_back({sandbox::MountSource::repository, "", "/in/repo"});
  for (const char* name :
       {"ingest.json", "policy.json", "diff.patch", "diff.json", "candidate.pack"})
    request.collect.push_back(output_file(name));
  const sandbox::RunResult result = TRY(jail.run(request, cancel_fd));
  const bool is_too_much = result.outcome.kind == sandbox::OutcomeKind::killed ||
                           result.outcome == sandbox::Outcome::timed_out("cpu");
  if (is_too_much) {
    IngestResult refused;
    refused.refusal = too_much(result);
    return refused;
  }
  if (!result.outcome.is_success())
    return os::fail(os::Code::unavailable, failure_text(attempt_directory, result, request.id));
  bool has_pack = false;
  for (const sandbox::Collected& collected : result.collected) {
    if (!collected.error.empty()) continue;
    TRY(keep_output(attempt_directory, collected));
    has_pack = has_pack || collected.name == "candidate.pack";
  }
  const IngestResult ingested = TRY(ingest_result_from_json(
      TRY(os::read_file_at(attempt_directory, "out/ingest.json", kOutputLimit))));
  if (ingested.refusal) return ingested;
  if (has_pack) TRY(index_pack(jail, attempt_directory, cancel_fd));
  TRY(publish_trees(ingested, plan.ingest, jail));
  return ingested;
}

}  // namespace tasks
