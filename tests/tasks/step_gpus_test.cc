#include "tasks/step_gpus.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"

namespace tasks {
namespace {

using sandbox::gpu::DeskAnswer;
using sandbox::gpu::LeaseRequest;

// Answers as an executor's desk does, each lease with another GPU unless it must be the same, until
// its client is gone.
class FakeDesk {
 public:
  explicit FakeDesk(std::string fault) : fault_(std::move(fault)) {
    std::array<os::Fd, 2> sockets = os::seqpacket_pair().value();
    client_ = std::move(sockets[1]);
    thread_ = std::jthread([this, socket = std::move(sockets[0])] { serve(socket); });
  }

  os::Fd take_client() { return std::move(client_); }
  // What it was asked for; after its client is gone.
  const std::vector<LeaseRequest>& wishes() {
    thread_.join();
    return wishes_;
  }
  int releases() const { return releases_; }

 private:
  void serve(const os::Fd& socket) {
    std::string packet(sandbox::gpu::kMostDeskBytes, '\0');
    for (;;) {
      const ssize_t got = ::recv(socket.get(), packet.data(), packet.size(), 0);
      if (got <= 0) return;
      const auto request = sandbox::gpu::decode_desk_request(
          std::string_view(packet).substr(0, static_cast<std::size_t>(got)));
      const std::string answer = sandbox::gpu::encode(answer_to(request.value()));
      if (::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  DeskAnswer answer_to(const sandbox::gpu::DeskRequest& request) {
    DeskAnswer answer;
    if (const auto* wish = std::get_if<LeaseRequest>(&request)) {
      wishes_.push_back(*wish);
      const std::vector<std::string> other{"GPU-" + std::to_string(wishes_.size())};
      answer.lease = {wish->run, wish->same.empty() ? other : wish->same, {}, {"gpu_scrub"}};
    } else {
      ++releases_;
      answer.end = {{}, "999", fault_};
    }
    return answer;
  }

  std::string fault_;
  os::Fd client_;
  std::vector<LeaseRequest> wishes_;
  int releases_ = 0;
  std::jthread thread_;
};

class StepGpusTest : public ::testing::Test {
 protected:
  static Step step(const std::string& name) {
    Step step;
    step.name = StepName(name);
    step.gpu = GpuSpec{};
    return step;
  }

  // One run of the step, leased and ended.
  static os::Result<RunRecord> use(StepGpus& gpus, const Step& step, std::optional<int> pair) {
    RunRecord record;
    record.id = "r0001";
    record.key = {Side::change, Side::change, step.name, pair};
    sandbox::RunRequest request;
    TRY(gpus.lease(step, request, record));
    EXPECT_EQ(request.gpus, step.gpu.has_value());
    TRY(gpus.end(record));
    return record;
  }

  os::TempDir directory = os::TempDir::create().value();
  os::Fd attempt = os::open_file(directory.path(), O_RDONLY | O_DIRECTORY).value();
  EventLog events = EventLog::open(attempt.get(), "a_1", 1).value();
};

TEST_F(StepGpusTest, KeepsTheRunsOfAPairOnTheGpusOfTheFirst) {
  FakeDesk desk("");
  {
    sandbox::gpu::DeskClient client(desk.take_client());
    StepGpus gpus(client, events, -1);
    for (const int pair : {0, 0, 1}) ASSERT_TRUE(use(gpus, step("a"), pair).has_value());
    ASSERT_TRUE(use(gpus, step("b"), 0).has_value());
    ASSERT_TRUE(use(gpus, step("a"), std::nullopt).has_value());
  }
  const std::vector<LeaseRequest>& wishes = desk.wishes();
  ASSERT_EQ(wishes.size(), 5U);
  EXPECT_EQ(wishes[0].same, std::vector<std::string>{});
  EXPECT_EQ(wishes[1].same, std::vector<std::string>{"GPU-1"});
  EXPECT_EQ(wishes[2].same, std::vector<std::string>{"GPU-1"});
  EXPECT_EQ(wishes[3].same, std::vector<std::string>{});
  EXPECT_EQ(wishes[4].same, std::vector<std::string>{});
  EXPECT_EQ(desk.releases(), 5);
}

TEST_F(StepGpusTest, MakesARunWorthlessWhoseGpuFailed) {
  FakeDesk desk("Xid 79");
  sandbox::gpu::DeskClient client(desk.take_client());
  StepGpus gpus(client, events, -1);
  const os::Result<RunRecord> record = use(gpus, step("a"), std::nullopt);
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(record.error().code, os::Code::unavailable);
  EXPECT_TRUE(record.error().message.contains("Xid 79")) << record.error().message;
}

TEST_F(StepGpusTest, SaysWhatTheSandboxLackedForItsGpus) {
  FakeDesk desk("");
  sandbox::gpu::DeskClient client(desk.take_client());
  StepGpus gpus(client, events, -1);
  const RunRecord record = use(gpus, step("a"), std::nullopt).value();
  EXPECT_EQ(record.gaps, std::vector<std::string>{"gpu_scrub"});
  EXPECT_EQ(record.gpu->driver, "999");
}

TEST_F(StepGpusTest, AsksNobodyForAStepWithoutGpus) {
  sandbox::gpu::DeskClient nobody{os::Fd()};
  StepGpus gpus(nobody, events, -1);
  Step plain = step("a");
  plain.gpu.reset();
  EXPECT_FALSE(use(gpus, plain, 0)->gpu.has_value());
  EXPECT_EQ(use(gpus, step("a"), 0).error().code, os::Code::unavailable);
}

}  // namespace
}  // namespace tasks
