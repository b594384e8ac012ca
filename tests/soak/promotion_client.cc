#include "tests/soak/promotion_client.h"

#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runner/git/git_client.h"
#include "runner/git/git_helper.h"
#include "runner/service_core.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "tasks/git.h"
#include "tests/runner/fake_executor.h"
#include "tests/runner/house.h"
#include "tests/soak/promotion_ledger.h"

namespace soak {
namespace {

using runner::TaskState;
using runner::TaskView;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using tests::FakeMachine;
using tests::shell;

constexpr std::size_t kOpenAtOnce = 12;
constexpr int kHotFiles = 4;
// Nothing ends for so long: something is stuck.
constexpr seconds kPatience{60};

// The helper's answers without its process: starting one takes longer than all the rest.
class GitInProcess final : public runner::GitClient {
 public:
  GitInProcess() : GitClient(runner::GitClientOptions{}) {}
  os::Result<runner::GitAnswer> ask(runner::GitRequest request) const override {
    return runner::to_result(runner::answer_git_request(request));
  }
};

void append(const std::string& path, const std::string& line) {
  const os::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  os::check(file.is_open() && os::write_all(file.get(), line + "\n").has_value(), "append");
}

template <class T>
T must(runner::Answer<T> answer, const char* what) {
  os::check(answer.has_value(), answer ? "" : std::string(what) + ": " + answer.error().detail);
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

// What an attempt's steps do: nothing. Some fail all the same.
void verify(const RoundPlace& place, std::mt19937_64& random, tests::ScriptedTask& task) {
  const tasks::IngestResult& change = task.evidence.change;
  if (random() % 100 < 6) {
    tests::Script failing;
    failing.outcome = sandbox::Outcome::exited(1);
    failing.cases = tests::with_status(tests::passing({"A.Ok"}), "A.Ok", tasks::CaseStatus::failed);
    task.on(tasks::Side::change, "test") = failing;
    return;
  }
  append(place.verified(),
         change.base.hex() + " " + change.candidate.hex() + " " + change.tree.hex());
}

FakeMachine::Ending ending(std::mt19937_64& random) {
  const std::uint64_t drawn = random() % 100;
  if (drawn < 2) return FakeMachine::Ending::has_fault;
  return drawn < 4 ? FakeMachine::Ending::ends_without_result : FakeMachine::Ending::completes;
}

class Client {
 public:
  explicit Client(const ClientOrder& order);
  int run();

 private:
  struct Open {
    int number = 0;
    bool is_cancelled = false;
  };
  runner::Actor actor(const std::string& name);
  void set_up();
  void recover();
  bool submit(int number);
  void look(const std::string& id, Open& open);
  void decide(const TaskView& task);
  void push();
  std::string patch_of(int number);
  std::string edit(const std::string& file, const std::string& line) const;
  std::string find(int number);
  void tell_stuck();

  const ClientOrder& order_;
  std::mt19937_64 random_, machine_random_;
  FakeMachine machine_;
  std::unique_ptr<runner::ServiceCore> core_;
  std::optional<runner::Actor> author_, bob_;
  std::map<std::string, Open> open_;  // by task
  std::map<int, std::string> ids_;    // of what was submitted, by number
  std::map<int, bool> ended_;         // whether it landed, by number
};

Client::Client(const ClientOrder& order)
    : order_(order),
      random_(order.seed + 7919 * static_cast<std::uint64_t>(order.life)),
      machine_random_(random_()),
      machine_(order.place.data()) {
  machine_.ending = [this](int) { return ending(machine_random_); };
  machine_.script = [this](tests::ScriptedTask& task) {
    verify(order_.place, machine_random_, task);
  };
  runner::Config config;
  config.data = order.place.data();
  config.disk_high_water_millionths = 1'000'000;
  auto opened =
      runner::ServiceCore::open(config, machine_.executor(), std::make_unique<GitInProcess>());
  os::check(opened.has_value(), opened ? "" : opened.error().message);
  core_ = std::move(*opened);
  core_->start();
}

runner::Actor Client::actor(const std::string& name) {
  if (name != "admin")
    return must(
        core_->authenticate(
            must(core_->create_token(actor("admin"), name, std::chrono::hours(1)), "token").token),
        "authenticate");
  const auto token = os::read_file(order_.place.data() + "/admin.token");
  os::check(token.has_value(), "admin.token");
  return must(core_->authenticate(token->substr(0, token->size() - 1)), "admin");
}

// Again after each kill: what is there already is no error.
void Client::set_up() {
  const runner::Actor admin = actor("admin");
  const auto make = [](const auto& answer) {
    os::check(answer.has_value() || answer.error().problem == "already_exists",
              answer ? "" : answer.error().detail);
  };
  runner::ProjectSpec spec;
  spec.name = "sample";
  spec.repository = order_.place.repository();
  make(core_->add_project(admin, spec));
  for (const auto& [name, role] :
       {std::pair{"author", runner::Role::agent}, std::pair{"bob", runner::Role::reviewer}}) {
    make(core_->create_principal(admin, {.name = name, .owner = {}}));
    make(core_->grant(admin, {.principal = name, .project = "sample", .role = role}));
  }
  author_ = actor("author");
  bob_ = actor("bob");
}

void Client::recover() {
  for (const auto& words : file_lines(order_.place.submitted()))
    ids_[std::stoi(words.at(0))] = words.at(1);
  for (const auto& words : file_lines(order_.place.ended()))
    ended_[std::stoi(words.at(0))] = words.size() > 4;
  for (const auto& [number, id] : ids_)
    if (!ended_.contains(number)) open_[id] = {.number = number};
}

// The task of a change that was accepted though its answer was lost.
std::string Client::find(int number) {
  runner::TaskFilter filter;
  filter.limit = 200;
  for (const TaskView& task : must(core_->list_tasks(*author_, filter), "list"))
    if (task.title == "change " + std::to_string(number)) return task.id;
  os::check(false, "change " + std::to_string(number) + " was accepted and is not there");
  return {};
}

// A patch that makes `line` the only one of a file at the tip.
std::string Client::edit(const std::string& file, const std::string& line) const {
  const std::string before =
      shell("git --git-dir=" + order_.place.repository() + " cat-file blob main:" + file);
  return "diff --git a/" + file + " b/" + file + "\n--- a/" + file + "\n+++ b/" + file +
         "\n@@ -1 +1 @@\n-" + before + "+" + line + "\n";
}

// Half of the changes touch nobody's file; the others edit one of a few, which conflicts with what
// lands meanwhile, or build on a change that landed.
std::string Client::patch_of(int number) {
  const std::uint64_t drawn = random_() % 100;
  const std::string line = "change " + std::to_string(number);
  if (drawn < 30) return edit("src/hot" + std::to_string(random_() % kHotFiles) + ".txt", line);
  if (drawn < 50)
    for (int other = number - 1; other >= 0 && other > number - 20; --other) {
      const auto found = ended_.find(other);
      if (found == ended_.end() || !found->second) continue;
      const std::string file = "src/new" + std::to_string(other) + ".txt";
      const std::string there =
          shell("git --git-dir=" + order_.place.repository() + " ls-tree --name-only main " + file);
      if (!there.empty()) return edit(file, line);
    }
  const std::string file = "src/new" + std::to_string(number) + ".txt";
  return "diff --git a/" + file + " b/" + file + "\nnew file mode 100644\n--- /dev/null\n+++ b/" +
         file + "\n@@ -0,0 +1 @@\n+" + line + "\n";
}

bool Client::submit(int number) {
  runner::Submission submission;
  submission.project = "sample";
  submission.title = "change " + std::to_string(number);
  submission.patch = patch_of(number);
  const auto answer = core_->submit(*author_, submission, "key-" + std::to_string(number));
  std::string id;
  if (answer) {
    id = answer->task.id;
  } else if (answer.error().problem == "idempotency_key_reused") {
    id = find(number);
  } else {
    // The tip moved while the patch was made.
    os::check(answer.error().problem == "patch_conflict" ||
                  answer.error().problem == "empty_patch" || answer.error().retryable,
              answer.error().problem + ": " + answer.error().detail);
    return false;
  }
  append(order_.place.submitted(), std::to_string(number) + " " + id);
  ids_[number] = id;
  open_[id] = {.number = number};
  return true;
}

void Client::decide(const TaskView& task) {
  runner::ApprovalRequest request;
  request.commit = task.candidate_commit;
  request.if_match = task.etag;
  if (random_() % 100 < 4) {
    request.decision = runner::Decision::refuse;
    request.reason = "not now";
  }
  const auto answer = core_->decide(*bob_, task.id, request);
  os::check(answer.has_value() || answer.error().problem == "etag_mismatch" ||
                answer.error().problem == "wrong_state",
            answer ? "" : answer.error().problem + ": " + answer.error().detail);
}

void Client::look(const std::string& id, Open& open) {
  const TaskView task = must(core_->task(*author_, id), "task");
  if (task.state == TaskState::done) {
    append(order_.place.ended(), fmt::format("{} {} {} {} {}", open.number, id, task.verdict,
                                             task.reason_code.empty() ? "-" : task.reason_code,
                                             task.promotion ? task.promotion->new_commit : ""));
    ended_[open.number] = task.promotion.has_value();
    return;
  }
  if (!open.is_cancelled && random_() % 1000 < 3) {
    open.is_cancelled = true;
    static_cast<void>(core_->cancel(*author_, id).has_value());
  }
  // Not at once, so that several wait and are approved together.
  if (task.state == TaskState::awaiting_approval && random_() % 100 < 40) decide(task);
}

// Somebody else's push past the server, by git itself.
void Client::push() {
  const std::string git = "git --git-dir=" + order_.place.repository();
  const bool is_hot = random_() % 3 == 0;
  const std::string file =
      is_hot ? "src/hot" + std::to_string(random_() % kHotFiles) + ".txt" : "src/pushed.txt";
  shell(fmt::format(
      "export GIT_INDEX_FILE={0}/index.$$ GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@p "
      "GIT_COMMITTER_NAME=p GIT_COMMITTER_EMAIL=p@p; tip=$({1} rev-parse main); "
      "{1} read-tree $tip; blob=$(echo pushed {2} | {1} hash-object -w --stdin); "
      "{1} update-index --add --cacheinfo 100644,$blob,{3}; "
      "commit=$({1} commit-tree $({1} write-tree) -p $tip -m pushed); "
      "echo $commit >> {4}; "
      "if {1} update-ref refs/heads/main $commit $tip; then echo $commit >> {5}; fi; "
      "rm -f $GIT_INDEX_FILE",
      order_.place.path, git, random_(), file, order_.place.pushing(), order_.place.pushed()));
}

void Client::tell_stuck() {
  fmt::print(stderr, "nothing ends any more; open are:\n");
  for (const auto& [id, open] : open_) {
    const auto why = core_->why(*author_, id);
    fmt::print(stderr, "  change {} {}: {}\n", open.number, id,
               why ? why->state + ": " + why->text : why.error().detail);
  }
}

int Client::run() {
  set_up();
  recover();
  int next = 0;
  steady_clock::time_point moved = steady_clock::now();
  while (std::cmp_less(ended_.size(), order_.changes)) {
    while (ids_.contains(next)) ++next;
    const bool has_room = open_.size() < kOpenAtOnce && next < order_.changes;
    if (has_room) submit(next);
    if (random_() % 40 == 0) push();
    const std::size_t before = ended_.size();
    for (auto& [id, open] : open_) look(id, open);
    std::erase_if(open_, [&](const auto& entry) { return ended_.contains(entry.second.number); });
    if (ended_.size() != before) moved = steady_clock::now();
    if (steady_clock::now() - moved > kPatience) {
      tell_stuck();
      return 1;
    }
    std::this_thread::sleep_for(milliseconds(has_room ? 1 : 5));
  }
  return 0;
}

}  // namespace

int run_client(const ClientOrder& order) {
  const auto session = tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) return 1;
  return Client(order).run();
}

}  // namespace soak
