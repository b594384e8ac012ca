// GPUs as data: CDI, errors, samples, choice, messages.
#include <unistd.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/gpu/cdi.h"
#include "sandbox/gpu/desk.h"
#include "sandbox/gpu/health.h"
#include "sandbox/gpu/lease.h"
#include "sandbox/gpu/telemetry.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace sandbox::gpu {
namespace {

constexpr const char* kSpec = R"(---
cdiVersion: 0.6.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - {path: /dev/nvidia0, permissions: rwm, fileMode: 438}
    - {path: /dev/dri/card1}
containerEdits:
  env: [NVIDIA_VISIBLE_DEVICES=void]
  deviceNodes: [{path: /dev/nvidiactl}, {path: /dev/nvidia-uvm-tools}, {path: /dev/sda}]
  mounts:
  - {hostPath: /usr/lib/libcuda.so.560.1, containerPath: /usr/lib/libcuda.so.560.1, options: [ro]}
  - {hostPath: /etc/shadow, containerPath: /etc/shadow}
  - {hostPath: /usr/lib/../lib/libcuda.so.1, containerPath: /x}
  hooks: [{hookName: createContainer, path: /usr/bin/nvidia-cdi-hook, args: [a]}]
)";

TEST(Cdi, GivesNodesAndLibrariesOfItsListAndNothingElse) {
  const CdiSpec spec = parse_cdi(kSpec).value();
  EXPECT_EQ(spec.kind, "nvidia.com/gpu");
  ASSERT_EQ(spec.devices.size(), 1U);
  EXPECT_EQ(spec.devices[0].edits.nodes, std::vector<std::string>{"nvidia0"});
  EXPECT_EQ(spec.common.nodes, std::vector<std::string>{"nvidiactl"});
  EXPECT_EQ(spec.common.libraries, std::vector<std::string>{"/usr/lib/libcuda.so.560.1"});
  // Two nodes, two mounts, a hook and a variable had no effect, and it is said.
  EXPECT_EQ(spec.common.left_out.size(), 6U);
  EXPECT_EQ(spec.devices[0].edits.left_out, std::vector<std::string>{"device node /dev/dri/card1"});
}

TEST(Cdi, ReadsJsonAsWell) {
  const auto spec = parse_cdi(
      R"({"cdiVersion":"1.0.0","kind":"nvidia.com/gpu","devices":[{"name":"GPU-1",
          "containerEdits":{"deviceNodes":[{"path":"/dev/nvidia3"}]}}]})");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->devices[0].name, "GPU-1");
  EXPECT_EQ(spec->devices[0].edits.nodes, std::vector<std::string>{"nvidia3"});
}

TEST(Cdi, RefusesWhatItDoesNotKnow) {
  for (const char* const text :
       {"cdiVersion: 0.6.0\nkind: a\nprivileged: true\n", "cdiVersion: 9.0\nkind: a\n", "kind: a\n",
        "- 1\n", "cdiVersion: 0.6.0\nkind: a\ndevices: 3\n",
        "cdiVersion: 0.6.0\nkind: a\ncontainerEdits: {deviceNodes: [{path: [1]}]}\n", "a: [\n"})
    EXPECT_FALSE(parse_cdi(text).has_value()) << text;
}

TEST(Cdi, AllowsOnlyNodesOfGpus) {
  EXPECT_EQ(allowed_node("/dev/nvidia12"), "nvidia12");
  EXPECT_EQ(allowed_node("/dev/nvidia-caps/nvidia-cap7"), "nvidia-caps/nvidia-cap7");
  for (const char* const path :
       {"/dev/mem", "/dev/nvidia", "/dev/nvidia1/../mem", "/dev/nvidia-uvm-tools", "nvidia0",
        "/dev/nvidia-caps/../nvidia-cap1", "/dev/nvidia-modeset", "/dev/nvidia0x"})
    EXPECT_EQ(allowed_node(path), "") << path;
  EXPECT_TRUE(is_driver_library("libnvidia-ml.so.1"));
  EXPECT_FALSE(is_driver_library("libc.so.6"));
  EXPECT_FALSE(is_driver_library("nvidia-smi"));
}

TEST(Xid, HasTheClassOfTheTable) {
  const std::vector<std::pair<XidClass, std::vector<int>>> table{
      {XidClass::task, {8, 11, 13, 31, 32, 39, 68, 69, 94, 96, 97}},
      {XidClass::ignored, {43, 44, 45, 66}},
      {XidClass::noted, {63, 92}},
      {XidClass::reset, {46, 48, 62, 64, 95, 109, 110, 119, 120, 140, 143, 155, 156, 158}},
      {XidClass::node, {79}},
      {XidClass::link, {74, 144, 145, 146, 147, 148, 149, 150}},
      {XidClass::recovery, {154}},
      {XidClass::unknown, {0, 1, 1000}}};
  for (const auto& [kind, xids] : table)
    for (const int xid : xids) EXPECT_EQ(classify_xid(xid), kind) << xid;
}

TEST(Xid, TakesAGpuOutOfServiceExactlyWhenHardwareDid) {
  for (int xid = 0; xid < 200; ++xid) {
    const XidClass kind = classify_xid(xid);
    const bool is_hardware =
        kind == XidClass::reset || kind == XidClass::node || kind == XidClass::link;
    EXPECT_EQ(judge_health({}, {}, {xid}).quarantine, is_hardware) << xid;
  }
}

TEST(Health, CountsWhatHappenedBetweenTwoReadings) {
  HealthReading before;
  before.ecc_uncorrected = 3;
  HealthReading after = before;
  after.ecc_corrected = 100;
  EXPECT_FALSE(judge_health(before, after, {}).quarantine);
  after.ecc_uncorrected = 4;
  EXPECT_EQ(judge_health(before, after, {}).reason, "1 uncorrected memory errors");
  after = before;
  after.is_lost = true;
  EXPECT_TRUE(judge_health(before, after, {}).quarantine);
  after = before;
  after.has_remap_failed = true;
  EXPECT_TRUE(judge_health(before, after, {}).quarantine);
  after = before;
  after.is_remap_pending = true;
  EXPECT_TRUE(judge_health(before, after, {63}).quarantine);
  after = before;
  after.recovery_action = 0;
  EXPECT_FALSE(judge_health(before, after, {154}).quarantine);
  after.recovery_action = 2;
  EXPECT_EQ(judge_health(before, after, {154}).reason,
            "the driver asks for a reboot of the machine");
}

Sample sample_at(std::int64_t ms, std::int64_t percent, std::int64_t cpu_ms) {
  Sample sample;
  sample.at = std::chrono::milliseconds(ms);
  sample.cpu_us = cpu_ms * 1000;
  sample.utilisation_percent = percent;
  sample.energy_mj = 1000 + ms;
  sample.power_mw = 100 + percent;
  sample.memory_used = percent * 10;
  sample.sm_clock_mhz = 1000 + percent;
  return sample;
}

TEST(Telemetry, TellsBusyStarvedAndIdleTimeApart) {
  TelemetrySum sum;
  sum.add(sample_at(0, 0, 0));
  sum.add(sample_at(100, 100, 0));  // a kernel ran
  sum.add(sample_at(200, 0, 90));   // only the CPU did
  sum.add(sample_at(300, 0, 91));   // nobody did
  sum.add(sample_at(400, 25, 95));  // a kernel ran a quarter of the time
  Sample last = sample_at(500, 0, 95);
  last.throttle_reasons = 0x1 | 0x4 | 0x40;
  sum.add(last);
  const GpuTelemetry got = sum.sum();
  EXPECT_EQ(got.held_ms, 500);
  EXPECT_EQ(got.busy_ms, 125);
  EXPECT_EQ(got.starved_ms, 100);
  EXPECT_EQ(got.idle_ms, 275);
  EXPECT_EQ(got.energy_mj, 500);
  EXPECT_EQ(got.power_peak_mw, 200);
  EXPECT_EQ(got.power_mean_mw, (100 + 200 + 100 + 100 + 125 + 100) / 6);
  EXPECT_EQ(got.utilisation_peak_percent, 100);
  EXPECT_EQ(got.memory_peak, 1000);
  EXPECT_EQ(got.sm_clock_min_mhz, 1000);
  EXPECT_EQ(got.sm_clock_max_mhz, 1100);
  EXPECT_EQ(got.throttled, (std::vector<std::string>{"sw_power_cap", "hw_thermal"}));
  EXPECT_EQ(got.samples, 6);
}

Candidate candidate(const std::string& uuid, unsigned gib, bool is_free = true,
                    const std::string& parent = {}) {
  Candidate made;
  made.uuid = uuid;
  made.parent = parent;
  made.memory = os::Bytes{std::uint64_t{gib} << 30U};
  made.is_free = is_free;
  made.is_leased = !is_free;
  return made;
}

LeaseRequest wish(int count, unsigned gib = 0) {
  LeaseRequest request;
  request.run = "r";
  request.count = count;
  request.min_memory = os::Bytes{std::uint64_t{gib} << 30U};
  return request;
}

TEST(Choice, TakesTheSmallestThatIsLargeEnough) {
  const std::vector<Candidate> all{candidate("a", 80), candidate("b", 40), candidate("c", 10)};
  EXPECT_EQ(choose_gpus(all, wish(1, 20)).value(), std::vector<std::string>{"b"});
  EXPECT_EQ(choose_gpus(all, wish(2, 20)).value(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(choose_gpus(all, wish(3, 20)).error().code, os::Code::invalid);
  EXPECT_EQ(choose_gpus({candidate("a", 80, false), candidate("b", 80)}, wish(2)).error().code,
            os::Code::exhausted);
}

TEST(Choice, KeepsAComparisonOnItsGpus) {
  LeaseRequest request = wish(1);
  request.same = {"b"};
  std::vector<Candidate> all{candidate("a", 80), candidate("b", 80)};
  all[1].uses = 7;
  EXPECT_EQ(choose_gpus(all, request).value(), std::vector<std::string>{"b"});
  EXPECT_EQ(choose_gpus(all, wish(1)).value(), std::vector<std::string>{"a"});
  // It waits for it, though another is free, unless it may wait for ever.
  all[1].is_free = false;
  EXPECT_EQ(choose_gpus(all, request).error().code, os::Code::exhausted);
  all[1].is_in_service = false;
  EXPECT_EQ(choose_gpus(all, request).error().code, os::Code::unavailable);
}

TEST(Choice, GivesAnExclusiveRunTheWholeGpuOfAnInstance) {
  const std::vector<Candidate> all{candidate("m0", 10, true, "g"), candidate("m1", 10, true, "g"),
                                   candidate("m2", 10, false, "h"), candidate("m3", 10, true, "h")};
  LeaseRequest request = wish(1);
  request.exclusive = true;
  EXPECT_EQ(choose_gpus(all, request).value(), std::vector<std::string>{"m0"});
  request.count = 2;
  EXPECT_EQ(choose_gpus(all, request).error().code, os::Code::exhausted);
  std::vector<Candidate> taken = all;
  taken[0].is_free = false;
  taken[0].is_leased = true;
  taken[0].has_exclusive_lease = true;
  EXPECT_EQ(choose_gpus(taken, wish(1)).value(), std::vector<std::string>{"m3"});
}

TEST(Book, KeepsWhatWasWrittenAndForgetsNoQuarantine) {
  const os::TempDir directory = os::TempDir::create().value();
  const LeaseBook book = LeaseBook::open(directory / "book").value();
  ASSERT_TRUE(book.update([](std::vector<LeaseRecord>& records) -> os::Result<void> {
                    LeaseRecord& one = record_of(records, "GPU-1");
                    one.state = GpuState::leased;
                    one.owner = "a.1";
                    one.holder = {::getpid(), os::process_start_time(::getpid()).value()};
                    LeaseRecord& two = record_of(records, "GPU-2");
                    two.state = GpuState::quarantined;
                    two.reason = "broken";
                    return {};
                  })
                  .has_value());
  const std::vector<LeaseRecord> read = book.read().value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].state, GpuState::leased);
  EXPECT_TRUE(read[0].holder.is_alive());
  // As after a reboot: no lease of before lives, a broken GPU stays broken.
  std::string text = os::read_file(directory / "book/book.json").value();
  const std::size_t boot = text.find("\"boot\":\"") + 8;
  text.replace(boot, 8, "00000000");
  ASSERT_TRUE(os::write_file_durably(directory / "book/book.json", text).has_value());
  const std::vector<LeaseRecord> later = book.read().value();
  EXPECT_EQ(later[0].state, GpuState::free);
  EXPECT_EQ(later[1].state, GpuState::quarantined);
  EXPECT_EQ(later[1].reason, "broken");
}

TEST(Desk, MessagesComeBackAsTheyWere) {
  LeaseRequest request = wish(2, 20);
  request.exclusive = true;
  request.same = {"GPU-1"};
  EXPECT_EQ(std::get<LeaseRequest>(decode_desk_request(encode(DeskRequest(request))).value()),
            request);
  const DeskRequest release = ReleaseRequest{"r"};
  EXPECT_EQ(decode_desk_request(encode(release)).value(), release);
  DeskAnswer answer;
  answer.end = LeaseEnd{{{"GPU-1", "name", {}, {13, 31}}}, "999", "it burns"};
  answer.end->uses[0].telemetry.busy_ms = 5;
  answer.end->uses[0].telemetry.throttled = {"hw_thermal"};
  EXPECT_EQ(decode_desk_answer(encode(answer)).value(), answer);
  DeskAnswer lease;
  lease.lease = Lease{"r", {"GPU-1"}, {"A=b"}, {"gpu_scrub"}};
  EXPECT_EQ(decode_desk_answer(encode(lease)).value(), lease);
  for (const char* const text : {"", "[]", "{}", R"({"schema":2,"op":"release","run":"r"})",
                                 R"({"schema":1,"op":"steal","run":"r"})",
                                 R"({"schema":1,"op":"release","run":"r","more":1})"})
    EXPECT_FALSE(decode_desk_request(text).has_value()) << text;
}

TEST(Desk, PutsTheDriversPathInFrontOfACommandsOwn) {
  const Lease lease{"r", {"GPU-1"}, {"CUDA_VISIBLE_DEVICES=GPU-1", "LD_LIBRARY_PATH=/driver"}, {}};
  std::vector<std::string> environment{"CUDA_VISIBLE_DEVICES=all", "LD_LIBRARY_PATH=/mine", "A=b"};
  add_variables(lease, environment);
  EXPECT_EQ(environment, (std::vector<std::string>{"CUDA_VISIBLE_DEVICES=GPU-1",
                                                   "LD_LIBRARY_PATH=/driver:/mine", "A=b"}));
  environment.clear();
  add_variables(lease, environment);
  EXPECT_EQ(environment, lease.environment);
}

TEST(Grant, ComesBackAsItWasAndRefusesOthers) {
  const GpuGrant grant{"r1", {"GPU-1"}, {{"nvidia0", 195, 0}}};
  EXPECT_EQ(decode_gpu_grant(encode(grant)).value(), grant);
  EXPECT_FALSE(decode_gpu_grant("{}").has_value());
  EXPECT_FALSE(decode_gpu_grant(R"({"schema":1,"run":"r","uuids":[],"nodes":[],"x":1})"));
}

}  // namespace
}  // namespace sandbox::gpu
