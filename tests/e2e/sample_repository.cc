#include "tests/e2e/sample_repository.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/os/process.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProgramLimit{60};

constexpr const char* kPolicy = R"(version: 1
environment: host
subject: [src/**, docs/**]
owners: {"**": 1}
limits: {cpus: 1, memory: 128MiB, disk: 32MiB, wall: 90s, idle: 90s, total: 5m}
steps:
  build: {run: "mkdir -p out && cat src/left.txt src/right.txt > out/words"}
  test: {needs: [build], run: sh checks/run.sh, report: {tap: report.tap}}
  hold: {run: "echo holding; sleep 80"}
gates:
  tests: {kind: tests, steps: [test]}
  size: {kind: diff, max_lines: 100, forbid: ["*.so"]}
promotion: {approvals: 1, strategy: rebase, approval: clean-rebase}
)";

constexpr const char* kTests = R"sh(echo "checking $(wc -l < out/words) words"
status=0
number=0
printf 'TAP version 13\n1..2\n' > report.tap
for word in left right; do
  number=$((number + 1))
  if [ "$(cat src/$word.txt)" = good ]; then
    echo "ok $number - Words.$word" >> report.tap
  else
    echo "not ok $number - Words.$word" >> report.tap
    printf "  ---\n  message: '%s is not good'\n  ...\n" $word >> report.tap
    echo "Words.$word failed"
    status=1
  fi
done
exit $status
)sh";

std::string notes() {
  std::string text;
  for (int line = 1; line <= 10; ++line) text += "line " + std::to_string(line) + "\n";
  return text;
}

}  // namespace

std::string run_program(const std::vector<std::string>& command, const std::string& directory) {
  os::SpawnRequest request;
  request.program = command.front();
  request.arguments.assign(command.begin() + 1, command.end());
  request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
                         "GIT_CONFIG_SYSTEM=/dev/null",
                         "GIT_CONFIG_GLOBAL=" + directory + "/../gitconfig"};
  request.directory = directory;
  request.search_path = true;
  const os::Result<os::Captured> done = os::run_captured(std::move(request), kProgramLimit);
  std::string words;
  for (const std::string& word : command) words += word + " ";
  if (!done) throw std::runtime_error(words + ": " + done.error().message);
  if (!done->status.is_success())
    throw std::runtime_error(words + "ended with " + std::to_string(done->status.code));
  return done->output;
}

SampleRepository::SampleRepository(std::string directory, unsigned owner)
    : directory_(std::move(directory)), owner_(owner) {
  fs::create_directories(checkout());
  // The bare repository belongs to serve's user.
  std::ofstream(directory_ + "/gitconfig") << "[safe]\n\tdirectory = *\n[user]\n\tname = sample\n"
                                              "\temail = sample@example.invalid\n";
  git({"init", "-q", "-b", "main", "."});
  write({{"src/left.txt", "good\n"},
         {"src/right.txt", "good\n"},
         {"src/notes.txt", notes()},
         {"checks/run.sh", kTests},
         {"proofhouse.yaml", kPolicy}});
  git({"add", "-A"});
  git({"commit", "-q", "-m", "Start the sample"});
  git({"clone", "-q", "--bare", ".", path()});
  git({"remote", "add", "origin", path()});
  own();
}

std::string SampleRepository::git(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{"git"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, checkout());
}

std::string SampleRepository::tip(const std::string& suffix) const {
  std::string id = git({"--git-dir=" + path(), "rev-parse", "refs/heads/main" + suffix});
  id.pop_back();
  return id;
}

int SampleRepository::commits_since(const std::string& from) const {
  return std::stoi(git({"--git-dir=" + path(), "rev-list", "--count", from + "..main"}));
}

void SampleRepository::follow_tip() const {
  git({"fetch", "-q", "origin"});
  git({"reset", "-q", "--hard", "refs/remotes/origin/main"});
  git({"clean", "-q", "-fd"});
}

void SampleRepository::write(const FileEdits& edits) const {
  for (const auto& [name, text] : edits) {
    const fs::path file = fs::path(checkout()) / name;
    if (text.empty()) {
      fs::remove(file);
      continue;
    }
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
}

std::string SampleRepository::patch(const FileEdits& edits) const {
  follow_tip();
  write(edits);
  git({"add", "-A"});
  std::string text = git({"diff", "--cached", "--binary", "--full-index"});
  git({"reset", "-q", "--hard"});
  return text;
}

std::string SampleRepository::commit(const FileEdits& edits, const std::string& subject) const {
  follow_tip();
  write(edits);
  git({"add", "-A"});
  git({"commit", "-q", "-m", subject});
  std::string id = git({"rev-parse", "HEAD"});
  id.pop_back();
  return id;
}

std::string SampleRepository::advance(const FileEdits& edits) const {
  std::string id = commit(edits, "Go past");
  git({"push", "-q", "origin", "HEAD:refs/heads/main"});
  own();
  return id;
}

void SampleRepository::own() const {
  const std::string user = std::to_string(owner_);
  run_program({"chown", "-R", user + ":" + user, path()});
}

}  // namespace tests
