#include "tests/runner/house.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "runner/git/git_client.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

constexpr const char* kPolicy = R"(version: 1
subject: [src/**]
owners: {"**": 1}
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, total: 10m}
steps:
  build: {run: "true"}
  test: {needs: [build], run: "true", report: {gtest-json: report.json}}
gates:
  tests: {kind: tests, steps: [test]}
  size: {kind: diff, max_lines: 100}
promotion: {approvals: 1, strategy: rebase, approval: clean-rebase}
)";

os::TempDir make_directory() {
  auto made = os::TempDir::create("proofhouse-service");
  os::check(made.has_value(), "a temporary directory");
  return std::move(*made);
}

}  // namespace

std::string shell(const std::string& command) {
  FILE* const pipe = ::popen(("set -e; " + command + " 2>/dev/null").c_str(), "r");
  os::check(pipe != nullptr, "popen");
  std::string output;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    output.append(piece.data(), count);
  const int status = ::pclose(pipe);
  os::check(status == 0, "failed: " + command);
  return output;
}

SampleRepository::SampleRepository(std::string directory)
    : directory_(std::move(directory)), path_(directory_ + "/origin.git") {
  const std::string work = directory_ + "/work";
  shell("git init -q -b main " + work + "; cd " + work +
        "; git config user.name t; git config user.email t@t; mkdir src tests; "
        "printf 'one\\ntwo\\nthree\\nfour\\nfive\\nsix\\nseven\\neight\\n' > src/a.txt; "
        "echo b > src/b.txt; echo t > tests/t.txt; cat > proofhouse.yaml <<'E'\n" +
        std::string(kPolicy) + "E\ngit add -A; git commit -q -m first; git clone -q --bare " +
        work + " " + path_);
}

std::string SampleRepository::tip() const {
  return shell("git -C " + path_ + " rev-parse refs/heads/main").substr(0, 40);
}

std::string SampleRepository::patch(const std::string& file, const std::string& text) const {
  const std::string copy = directory_ + "/copy";
  return shell("rm -rf " + copy + "; git clone -q " + path_ + " " + copy + "; cd " + copy +
               "; printf '%s' '" + text + "' > " + file +
               "; git add -A; git diff --cached --binary --full-index");
}

std::string SampleRepository::advance(const std::string& file, const std::string& text) const {
  const std::string copy = directory_ + "/advance";
  shell("rm -rf " + copy + "; git clone -q " + path_ + " " + copy + "; cd " + copy +
        "; git config user.name t; git config user.email t@t; printf '%s' '" + text + "' > " +
        file + "; git add -A; git commit -q -m next; git push -q origin HEAD:main");
  return tip();
}

House::House()
    : directory(make_directory()),
      data(directory / "data"),
      repository(directory.path()),
      machine(data) {
  config.data = data;
  config.disk_high_water_millionths = 1'000'000;
  open();
  const runner::Actor admin = actor("admin");
  const auto must = [](const auto& answer) {
    os::check(answer.has_value(), answer ? "" : answer.error().detail);
  };
  runner::ProjectSpec spec;
  spec.name = "sample";
  spec.repository = repository.path();
  must(core->add_project(admin, spec));
  for (const auto& [name, owner] : {std::pair{"alice", ""}, std::pair{"bob", ""},
                                    std::pair{"carol", ""}, std::pair{"author", "alice"}})
    must(core->create_principal(admin, {.name = name, .owner = owner}));
  using runner::Role;
  for (const auto& [name, role] :
       {std::pair{"author", Role::agent}, std::pair{"alice", Role::owner},
        std::pair{"alice", Role::reviewer}, std::pair{"bob", Role::reviewer},
        std::pair{"carol", Role::owner}})
    must(core->grant(admin, {.principal = name, .project = "sample", .role = role}));
}

void House::open() {
  auto opened =
      runner::ServiceCore::open(config, machine.executor(),
                                std::make_unique<runner::GitClient>(runner::GitClientOptions{
                                    .program = program_path("proofhouse"),
                                    .arguments = {"git-helper"},
                                    .local_deadline = std::chrono::seconds(30),
                                    .remote_deadline = std::chrono::seconds(60),
                                    .file_urls = true,
                                    .credential_file = {}}));
  os::check(opened.has_value(), opened ? "" : opened.error().message);
  core = std::move(*opened);
  core->start();
}

void House::restart() {
  core.reset();
  open();
}

runner::Actor House::actor(const std::string& name) {
  if (name == "admin") {
    const auto token = os::read_file(data + "/admin.token");
    os::check(token.has_value(), "admin.token");
    const auto admin = core->authenticate(token->substr(0, token->size() - 1));
    os::check(admin.has_value(), "the admin's token is good");
    return *admin;
  }
  const auto token = core->create_token(actor("admin"), name, std::chrono::hours(1));
  os::check(token.has_value(), "a token of " + name);
  const auto made = core->authenticate(token->token);
  os::check(made.has_value(), "the token of " + name + " is good");
  return *made;
}

runner::Submission House::submission(const std::string& file, const std::string& text) {
  runner::Submission submission;
  submission.project = "sample";
  submission.patch = repository.patch(file, text);
  submission.title = "change " + file;
  return submission;
}

runner::TaskView House::submit(const runner::Submission& submission) {
  const auto submitted = core->submit(actor("author"), submission, "");
  EXPECT_TRUE(submitted.has_value())
      << submitted.error().problem << ": " << submitted.error().detail;
  return submitted ? submitted->task : runner::TaskView{};
}

runner::TaskView House::wait_for(const std::string& task, runner::TaskState state) {
  const runner::Actor owner = actor("carol");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string seen;
  while (true) {
    const auto view = core->wait_task(owner, task, seen, std::chrono::milliseconds(500));
    if (!view) {
      ADD_FAILURE() << view.error().detail;
      return {};
    }
    if (view->state == state || view->state == runner::TaskState::done ||
        std::chrono::steady_clock::now() > deadline)
      return *view;
    seen = view->etag;
  }
}

runner::Answer<runner::TaskView> House::approve(const std::string& who,
                                                const runner::TaskView& task) {
  runner::ApprovalRequest request;
  request.commit = task.candidate_commit;
  request.if_match = task.etag;
  request.gates = task.asks;
  return core->decide(actor(who), task.id, request);
}

}  // namespace tests
