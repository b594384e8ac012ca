#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <thread>

#include "sandbox/cgroup.h"
#include "sandbox/wire.h"
#include "tests/sandbox/jail_fixture.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

using sandbox::Collected;
using sandbox::Domain;
using sandbox::Outcome;
using sandbox::RunRequest;
using sandbox::RunResult;

class Jail : public JailTest {
 protected:
  os::Code refusal(const RunRequest& request) {
    if (client == nullptr) start();
    const os::Result<RunResult> result = client->run(request);
    EXPECT_FALSE(result.has_value()) << describe(result->outcome);
    return result ? os::Code::internal : result.error().code;
  }
  // Processes anywhere on the machine that run as an id of this jail's sandboxes.
  int living() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      struct stat info{};
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (::stat(entry.path().c_str(), &info) != 0) continue;
      const std::uint32_t first = slot->range().start;
      if (info.st_uid >= first && info.st_uid < first + slot->range().count) ++count;
    }
    return count;
  }
  // Waits until the head of a run holds the text.
  void wait_for(const std::string& id, const std::string& text) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (head(id).find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "no '" << text << "' in the output of " << id;
  }
  void wait_until_dead() {
    for (int tries = 0; tries < 500 && living() > 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(living(), 0);
  }
};

TEST_F(Jail, TellsHowACommandEnded) {
  EXPECT_EQ(run("zero", "exit 0").outcome, Outcome::exited(0));
  EXPECT_EQ(run("seven", "exit 7").outcome, Outcome::exited(7));
  EXPECT_EQ(run("segv", "kill -SEGV $$").outcome, Outcome::signalled(SIGSEGV));
  EXPECT_EQ(run("kill", "kill -KILL $$").outcome, Outcome::signalled(SIGKILL));
}

TEST_F(Jail, NamesTheStepOfASetUpThatFailed) {
  RunRequest missing = request("missing", "");
  missing.command = {"/nowhere/program"};
  EXPECT_EQ(run(missing).outcome, Outcome::setup_failed("execute /nowhere/program", ENOENT));
  RunRequest output = request("output", "");
  output.mounts = {{sandbox::MountSource::output, "no/such", "/needs/x"}};
  const RunResult result = run(output);
  EXPECT_EQ(result.outcome.kind, sandbox::OutcomeKind::setup_failed);
  EXPECT_EQ(result.outcome.error_number, ENOENT);
}

TEST_F(Jail, PassesArgumentsAndEnvironmentAsTheyAre) {
  RunRequest run = request("args", "");
  run.command = {"/usr/bin/python3", "-c",  "import os, sys; print(sys.argv[1:], dict(os.environ))",
                 "--bind",           "a b", "$(x)"};
  run.environment = {"A=1"};
  EXPECT_TRUE(JailTest::run(run).outcome.is_success());
  EXPECT_EQ(head("args"), "['--bind', 'a b', '$(x)'] {'A': '1', 'LC_CTYPE': 'C.UTF-8'}\n");
}

TEST_F(Jail, KillsAndCountsWhatACommandLeft) {
  const RunResult result =
      run("left", "(setsid sleep 100 &); sleep 100 & (trap '' TERM HUP; sleep 100) & echo done");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_GE(result.usage.left_behind, 3);
  EXPECT_LT(result.usage.wall_ms, 20'000);
  EXPECT_EQ(head("left"), "done\n");
  // The sandbox's own process 1 goes right after the result.
  wait_until_dead();
}

TEST_F(Jail, ReadsOutputUntilTheCommandEndsNotUntilThePipeCloses) {
  RunRequest hold = request("hold", "sleep 100 & echo done");
  hold.limits.wall = std::chrono::seconds(30);
  EXPECT_EQ(run(hold).outcome, Outcome::exited(0));
  EXPECT_EQ(head("hold"), "done\n");
}

TEST_F(Jail, KeepsHeadAndTailOfLongOutput) {
  RunRequest print = request("long", "seq 1 20000");
  print.limits.keep = os::Bytes{1000};
  const RunResult result = run(print);
  EXPECT_EQ(result.output_bytes, 108'894);
  EXPECT_EQ(result.head_bytes, 500);
  EXPECT_EQ(result.tail_bytes, 500);
  EXPECT_TRUE(head("long").starts_with("1\n2\n"));
  const std::string tail = file("runs/long/tail");
  EXPECT_EQ(tail.size(), 500U);
  EXPECT_TRUE(tail.ends_with("19999\n20000\n"));
}

TEST_F(Jail, PutsAllOfAnOutputThatFitsIntoTheHead) {
  RunRequest print = request("fits", "seq 1 100");
  print.limits.keep = os::Bytes{292};
  const RunResult result = run(print);
  EXPECT_EQ(result.head_bytes, 292);
  EXPECT_EQ(result.tail_bytes, 0);
  EXPECT_EQ(head("fits").size(), 292U);
  EXPECT_EQ(file("runs/fits/tail"), "(none)");
}

TEST_F(Jail, SeparatesErrorOutputWhenAsked) {
  RunRequest both = request("both", "echo out; echo err >&2");
  EXPECT_TRUE(run(both).outcome.is_success());
  EXPECT_EQ(head("both"), "out\nerr\n");
  both.id = "apart";
  both.separate_error_output = true;
  EXPECT_EQ(run(both).output_bytes, 4);
  EXPECT_EQ(head("apart"), "out\n");
  EXPECT_EQ(file("runs/apart/stderr/head"), "err\n");
}

TEST_F(Jail, LeavesItsFilesToTheAttempt) {
  run("one", "echo x");
  struct stat info{};
  ASSERT_EQ(::stat((attempt + "/runs/one").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, bounds.attempt_uid);
  EXPECT_EQ(info.st_mode & 07777U, 02750U);
  ASSERT_EQ(::stat((attempt + "/runs/one/head").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, bounds.attempt_uid);
  EXPECT_EQ(info.st_gid, bounds.attempt_gid);
  EXPECT_EQ(info.st_mode & 07777U, 0640U);
}

TEST_F(Jail, CollectsPlainFilesAndDirectories) {
  RunRequest make = request("make",
                            "echo 1 > f; chmod 700 f; mkdir -p d/e; echo 22 > d/e/g;"
                            "echo 333 > d/h; chmod 000 d/h; ln f d/linked; echo o > /out/o");
  make.out = os::Bytes{1U << 20U};
  make.collect = {{"f", "f"}, {"d", "d", false, true}, {"o", "o", true}};
  const RunResult result = run(make);
  ASSERT_EQ(result.collected.size(), 3U);
  EXPECT_EQ(result.collected[0], (Collected{"f", "", "runs/make/collected/f", 1, 2}));
  EXPECT_EQ(result.collected[1], (Collected{"d", "", "runs/make/collected/d", 3, 9}));
  EXPECT_EQ(file("runs/make/collected/d/e/g"), "22\n");
  EXPECT_EQ(file("runs/make/collected/o"), "o\n");
  struct stat info{};
  ASSERT_EQ(::stat((attempt + "/runs/make/collected/d/h").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0644U);
  EXPECT_EQ(info.st_uid, bounds.attempt_uid);
  ASSERT_EQ(::stat((attempt + "/runs/make/collected/d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
}

TEST_F(Jail, RefusesToCollectAnythingElse) {
  RunRequest make = request(
      "make",
      "echo 1 > f; ln -s f link; ln -s /etc/passwd out; ln -s / root; mkfifo fifo; mkdir d; "
      "mkfifo d/fifo; mkdir e; ln -s ../f e/link; truncate -s 1G sparse; echo 12345 > big;"
      "mkdir many; for n in 1 2 3 4 5; do touch many/$n; done; python3 -c 'import socket;"
      "socket.socket(socket.AF_UNIX).bind(\"sock\")'; mkdir -p deep; cd deep;"
      "for n in $(seq 70); do mkdir x; cd x; done");
  const auto want = [&make](const std::string& name, const std::string& path, bool is_directory) {
    make.collect.push_back({name, path, false, is_directory, os::Bytes{5}, 4});
  };
  want("link", "link", false);
  want("out", "out", false);
  want("root", "root/etc/passwd", false);
  want("fifo", "fifo", false);
  want("dfifo", "d", true);
  want("elink", "e", true);
  want("sparse", "sparse", false);
  want("big", "big", false);
  want("many", "many", true);
  want("sock", "sock", false);
  want("missing", "nowhere", false);
  want("file", "d", false);
  want("directory", "f", true);
  want("linkdir", "root", true);
  make.collect.push_back({"deep", "deep", false, true, os::Bytes{5}, 1000});
  make.collect.push_back({"noout", "f", true});
  const RunResult result = run(make);
  EXPECT_TRUE(result.outcome.is_success()) << head("make");
  ASSERT_EQ(result.collected.size(), make.collect.size());
  for (const Collected& one : result.collected) {
    EXPECT_FALSE(one.error.empty()) << one.name;
    EXPECT_EQ(one.path, "") << one.name;
    EXPECT_FALSE(std::filesystem::exists(attempt + "/runs/make/collected/" + one.name)) << one.name;
  }
  EXPECT_EQ(result.collected[0].error, "a symbolic link, or beneath one");
  EXPECT_EQ(result.collected[3].error, "not a regular file");
  EXPECT_EQ(result.collected[10].error, "missing");
}

TEST_F(Jail, RefusesRequestsBeyondItsBoundsAndGoesOn) {
  const RunRequest good = request("good", "true");
  const std::vector<std::pair<const char*, std::function<void(RunRequest&)>>> wrong{
      {"id with a slash", [](RunRequest& r) { r.id = "../x"; }},
      {"empty id", [](RunRequest& r) { r.id = ""; }},
      {"no command", [](RunRequest& r) { r.command.clear(); }},
      {"relative command", [](RunRequest& r) { r.command = {"true"}; }},
      {"environment", [](RunRequest& r) { r.environment = {"NOVALUE"}; }},
      {"memory", [this](RunRequest& r) { r.limits.memory.count = bounds.memory.count + 1; }},
      {"cpus", [](RunRequest& r) { r.limits.cpus = 4096; }},
      {"no cpus", [](RunRequest& r) { r.limits.cpus = 0; }},
      {"wall", [](RunRequest& r) { r.limits.wall = std::chrono::milliseconds(0); }},
      {"pids", [](RunRequest& r) { r.limits.pids = -1; }},
      {"target outside", [](RunRequest& r) { r.mounts = {{{}, "a/b", "/usr/x"}}; }},
      {"target up", [](RunRequest& r) { r.mounts = {{{}, "a/b", "/needs/../usr"}}; }},
      {"output name", [](RunRequest& r) { r.mounts = {{{}, "a/../../b", "/needs/x"}}; }},
      {"input name",
       [](RunRequest& r) { r.mounts = {{sandbox::MountSource::input, "../x", "/in/x"}}; }},
      {"no repository",
       [](RunRequest& r) { r.mounts = {{sandbox::MountSource::repository, "", "/in/x"}}; }},
      {"nested targets",
       [](RunRequest& r) { r.mounts = {{{}, "a/b", "/needs/x"}, {{}, "a/c", "/needs/x/y"}}; }},
      {"collect path", [](RunRequest& r) { r.collect = {{"x", "../x"}}; }},
      {"collect name", [](RunRequest& r) { r.collect = {{"x/y", "x"}}; }},
      {"collect twice", [](RunRequest& r) { r.collect = {{"x", "x"}, {"x", "y"}}; }},
      {"clear", [](RunRequest& r) { r.clear = {"/etc"}; }},
      {"workspace without mode", [](RunRequest& r) { r.workspace = "x"; }},
      {"mode without workspace", [](RunRequest& r) { r.mode = sandbox::WorkspaceMode::shared; }},
      {"out", [this](RunRequest& r) { r.out.count = bounds.memory.count + 1; }},
  };
  for (const auto& [name, spoil] : wrong) {
    RunRequest bad = good;
    spoil(bad);
    EXPECT_EQ(refusal(bad), os::Code::invalid) << name;
  }
  EXPECT_TRUE(run(good).outcome.is_success());
  EXPECT_EQ(refusal(good), os::Code::conflict) << "an id is used once";
}

TEST_F(Jail, ShowsNoInputBehindALink) {
  write_file(*directory / "secret", "secret");
  std::filesystem::create_directories(attempt + "/input");
  std::filesystem::create_symlink(*directory / "secret", attempt + "/input/patch");
  RunRequest look = request("look", "cat /in/patch");
  look.mounts = {{sandbox::MountSource::input, "input/patch", "/in/patch"}};
  EXPECT_EQ(run(look).outcome.kind, sandbox::OutcomeKind::setup_failed);
}

TEST_F(Jail, EndsARunThatIsCancelled) {
  start();
  std::array<int, 2> cancel{};
  ASSERT_EQ(::pipe2(cancel.data(), O_CLOEXEC), 0);
  std::thread canceller([&] {
    wait_for("sleep", "ready");
    static_cast<void>(::write(cancel[1], "x", 1));
  });
  const os::Result<RunResult> result =
      client->run(request("sleep", "echo ready; sleep 100"), cancel[0]);
  canceller.join();
  ASSERT_OK(result);
  EXPECT_EQ(result->outcome, Outcome::cancelled());
  EXPECT_TRUE(run("next", "true").outcome.is_success()) << "the jail goes on";
  ::close(cancel[0]);
  ::close(cancel[1]);
}

TEST_F(Jail, KillsItsCommandAndEndsWhenItsAttemptIsGone) {
  os::Fd socket = launch();
  const std::string packet =
      encode(sandbox::Request(request("sleep", "(setsid sleep 100 &); echo ready; sleep 100")));
  ASSERT_EQ(::send(socket.get(), packet.data(), packet.size(), 0),
            static_cast<ssize_t>(packet.size()));
  wait_for("sleep", "ready");
  EXPECT_GT(living(), 0);
  socket.close();
  EXPECT_TRUE(end().is_success());
  EXPECT_EQ(living(), 0);
}

TEST_F(Jail, HoldsItsIdsThoughWhoTookThemIsGone) {
  const int index = slot->index();
  held = {slot->lock_fd()};
  start();
  slot.reset();
  EXPECT_EQ(sandbox::IdSlot::take_index(index).error().code, os::Code::conflict);
  // The command has no part in it.
  EXPECT_FALSE(print("r1", "ls -l /proc/self/fd").contains("ids"));
  EXPECT_TRUE(end().is_success());
  EXPECT_TRUE(sandbox::IdSlot::take_index(index).has_value());
}

TEST_F(Jail, EndsInTheSameWayWhenItIsTerminated) {
  start();
  std::thread runner([this] {
    const os::Result<RunResult> result = client->run(request("sleep", "echo ready; sleep 100"));
    ASSERT_OK(result);
    EXPECT_EQ(result->outcome, Outcome::cancelled());
  });
  wait_for("sleep", "ready");
  ASSERT_OK(jail->signal(SIGTERM));
  runner.join();
  EXPECT_TRUE(end().is_success());
  EXPECT_EQ(living(), 0);
}

TEST_F(Jail, AnswersPacketsThatItCannotReadAndGoesOn) {
  os::Fd socket = launch();
  for (const std::string_view packet : {"{", "{\"schema\":1,\"dance\":{}}", "\xff\xfe", "[[[["}) {
    ASSERT_GT(::send(socket.get(), packet.data(), packet.size(), 0), 0);
    std::string answer(sandbox::kMaxPacket, '\0');
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
    ASSERT_GT(got, 0);
    answer.resize(static_cast<std::size_t>(got));
    const os::Result<sandbox::Reply> reply = sandbox::decode_reply(answer);
    ASSERT_OK(reply);
    ASSERT_TRUE(reply->error.has_value());
    EXPECT_EQ(reply->error->code, os::Code::invalid);
  }
  socket.close();
  EXPECT_TRUE(end().is_success());
}

TEST_F(Jail, TakesItsCommandsWithItWhenItIsKilled) {
  start();
  std::thread runner([this] {
    static_cast<void>(
        client->run(request("sleep", "(setsid sleep 100 &); echo ready; sleep 100")).has_value());
  });
  wait_for("sleep", "ready");
  ASSERT_OK(jail->signal(SIGKILL));
  runner.join();
  end();
  wait_until_dead();
  const os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  ASSERT_OK(host);
  ASSERT_OK(host->sweep(cgroup_prefix));
}

TEST_F(Jail, RefusesBoundsThatAreNotSealed) {
  const os::Fd file = *os::open_file(*directory / "bounds", O_RDWR | O_CREAT);
  ASSERT_OK(os::write_all(file.get(), encode(bounds)));
  const os::Fd attempt_fd = *os::open_file(attempt, O_PATH | O_DIRECTORY);
  const std::array<os::Fd, 2> pair = *os::seqpacket_pair();
  os::SpawnRequest spawn;
  spawn.program = program_path("jail");
  spawn.descriptors = {{pair[1].get(), sandbox::kSocketFd},
                       {file.get(), sandbox::kBoundsFd},
                       {attempt_fd.get(), sandbox::kAttemptDirFd}};
  os::Result<os::ChildProcess> child = os::ChildProcess::spawn(spawn);
  ASSERT_OK(child);
  EXPECT_EQ(child->wait(std::chrono::seconds(10)).value_or(os::ExitStatus{}).code, 1);
}

// /proofhouse/ingest for these tests: tells the tree's id from a file in it.
class Publish : public Jail {
 protected:
  void give_ingest() {
    programs = *directory / "programs";
    write_file(programs + "/ingest",
               "#!/bin/sh\n[ $1 = tree-id ] || exit 2\nread id < $2/id\necho $id\n");
    ASSERT_EQ(::chmod((programs + "/ingest").c_str(), 0755), 0);
  }
  void ingest(const std::string& script) {
    RunRequest make = request("ingest", script);
    make.domain = Domain::reader;
    make.out = os::Bytes{16U << 20U};
    const RunResult result = run(make);
    EXPECT_TRUE(result.outcome.is_success()) << head("ingest");
  }
  const std::string id_ = std::string(40, 'd');
};

TEST_F(Publish, MovesATreeWhoseIdWasComputedAgain) {
  give_ingest();
  ingest("mkdir -p /out/t/bin; echo " + id_ +
         " > /out/t/id; echo x > /out/t/bin/x;"
         "chmod 777 /out/t/bin/x; chmod 600 /out/t/id; ln -s bin/x /out/t/link");
  ASSERT_OK(client->publish_tree({"ingest", "t", id_}));
  ASSERT_OK(client->publish_tree({"ingest", "t", id_}));
  const std::string tree = trees + "/" + id_;
  struct stat info{};
  ASSERT_EQ(::lstat((tree + "/bin/x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0755U);
  EXPECT_EQ(info.st_uid, 0U);
  EXPECT_EQ(info.st_mtim.tv_sec, 946'684'800);
  ASSERT_EQ(::lstat((tree + "/id").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0644U);
  EXPECT_EQ(std::filesystem::read_symlink(tree + "/link"), "bin/x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(trees), {}), 1) << "nothing is left";
}

TEST_F(Publish, RefusesATreeOfAnotherId) {
  give_ingest();
  ingest("mkdir /out/t; echo " + std::string(40, 'e') + " > /out/t/id");
  EXPECT_EQ(client->publish_tree({"ingest", "t", id_}).error().code, os::Code::corrupt);
  EXPECT_TRUE(std::filesystem::is_empty(trees));
}

TEST_F(Publish, RefusesSpecialFilesAndLinksAsTheTree) {
  give_ingest();
  ingest("mkdir /out/t; echo " + id_ + " > /out/t/id; mkfifo /out/t/fifo; ln -s t /out/link");
  EXPECT_EQ(client->publish_tree({"ingest", "t", id_}).error().code, os::Code::invalid);
  EXPECT_FALSE(client->publish_tree({"ingest", "link", id_}).has_value());
  EXPECT_FALSE(client->publish_tree({"ingest", "../t", id_}).has_value());
  EXPECT_EQ(client->publish_tree({"nobody", "t", id_}).error().code, os::Code::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(trees));
}

}  // namespace
}  // namespace tests
