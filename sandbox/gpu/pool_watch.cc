// What a pool does by itself: samples, error reports, cleaning, burn-ins.
#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "sandbox/gpu/pool.h"
#include "sandbox/gpu/release.h"

namespace sandbox::gpu {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Of one kind in one lease: a program that traps in a loop must neither fill our memory nor hide an
// error of the hardware behind its own.
constexpr std::ptrdiff_t kMostXids = 64;
constexpr milliseconds kLongestPause{std::chrono::hours(1)};
// How often the book is looked through for what others left.
constexpr milliseconds kLook{300};

milliseconds now_ms() {
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch());
}

}  // namespace

void GpuPool::watch(const std::stop_token& stop) {
  steady_clock::time_point looked{};
  while (!stop.stop_requested()) {
    drain_xids();
    sample_held();
    if (steady_clock::now() - looked >= kLook) {
      looked = steady_clock::now();
      take_over();
      try_burn_ins();
    }
    std::this_thread::sleep_for(options_.sample);
  }
}

void GpuPool::drain_xids() {
  // Held over taking and noting: whoever finds nothing left knows that all are noted.
  const std::scoped_lock lock(xid_mutex_);
  while (const std::optional<XidEvent> event = nvml_->next_xid(milliseconds(0))) note_xid(*event);
}

void GpuPool::sample_held() {
  std::vector<std::pair<std::string, std::function<std::int64_t()>>> now;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uuid, held] : held_) now.emplace_back(uuid, held.cpu_us);
  }
  for (const auto& [uuid, cpu_us] : now) {
    Sample sample = nvml_->read_sample(find(uuid)->device);
    sample.at = now_ms();
    sample.cpu_us = cpu_us ? cpu_us() : 0;
    const std::scoped_lock lock(mutex_);
    const auto held = held_.find(uuid);
    if (held != held_.end()) held->second.sum.add(sample);
  }
}

void GpuPool::note_xid(const XidEvent& event) {
  for (const Gpu& gpu : inventory_.gpus) {
    const NvmlDevice& device = gpu.device;
    if (device.physical != event.physical) continue;
    if (event.gpu_instance && !device.parent.empty() && *event.gpu_instance != device.gpu_instance)
      continue;
    bool is_leased = false;
    {
      const std::scoped_lock lock(mutex_);
      const auto held = held_.find(device.uuid);
      is_leased = held != held_.end();
      if (is_leased && std::ranges::count(held->second.xids, event.xid) < kMostXids)
        held->second.xids.push_back(event.xid);
    }
    if (!is_leased) note_unleased_xid(device, event.xid);
  }
}

// Nobody's: only what hardware does counts.
void GpuPool::note_unleased_xid(const NvmlDevice& device, int xid) {
  const HealthReading reading = nvml_->read_health(device);
  const HealthVerdict verdict = judge_health(reading, reading, {xid});
  if (!verdict.quarantine) return;
  {
    const std::scoped_lock lock(mutex_);
    late_reasons_[device.uuid] = verdict.reason;
  }
  const std::vector<LeaseRecord> records = book_.read().value_or(std::vector<LeaseRecord>());
  const auto record = std::ranges::find(records, device.uuid, &LeaseRecord::uuid);
  // One that is being cleaned finds the reason at its end.
  if (record != records.end() && record->state == GpuState::free)
    set_state(device.uuid, GpuState::quarantined, verdict.reason);
}

// Leases whose holder is dead and cleanings whose program is gone.
void GpuPool::take_over() {
  for (const LeaseRecord& record : book_.read().value_or(std::vector<LeaseRecord>())) {
    const bool is_open = record.state == GpuState::leased || record.state == GpuState::cleaning;
    if (!is_open || find(record.uuid) == nullptr || record.holder.is_alive() ||
        is_held(record.uuid))
      continue;
    // Another program may look at the same moment: one of us gets it.
    const os::Result<void> ours =
        book_.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
          LeaseRecord& now = record_of(records, record.uuid);
          if (now != record) return os::fail(os::Code::conflict, "taken over by another program");
          now.state = GpuState::cleaning;
          now.holder = self_;
          return {};
        });
    if (!ours) continue;
    Held held;
    held.owner = record.owner;
    held.run = record.run;
    // What it was before is not known: only what is wrong now counts.
    held.before = nvml_->read_health(find(record.uuid)->device);
    start_cleaning(record.uuid, std::move(held), judge_reading(held.before).reason);
  }
}

void GpuPool::start_worker(const std::string& uuid,
                           std::function<void(const std::stop_token&)> work) {
  std::jthread worker(std::move(work));
  // The last one has nothing left to do but to end; it is joined without the lock.
  const std::jthread last = [&] {
    const std::scoped_lock lock(mutex_);
    return std::exchange(workers_[uuid], std::move(worker));
  }();
}

void GpuPool::start_cleaning(const std::string& uuid, Held held, std::string reason) {
  const Gpu& gpu = *find(uuid);
  set_state(uuid, GpuState::cleaning, reason);
  {
    const std::scoped_lock lock(mutex_);
    monitors_[uuid] = held.processes_before;
  }
  start_worker(uuid, [this, &gpu, held = std::move(held), reason = std::move(reason)](
                         const std::stop_token& stop) { clean(gpu, held, reason, stop); });
}

void GpuPool::clean(const Gpu& gpu, const Held& held, std::string reason,
                    const std::stop_token& stop) {
  const std::string& uuid = gpu.device.uuid;
  if (reason.empty())
    reason = wait_until_empty(*nvml_, gpu, held.processes_before, options_.leftover_limit, stop);
  if (reason.empty() && !options_.scrub.empty())
    reason = run_tool(options_.scrub, uuid, options_.scrub_limit, stop);
  // Left to who comes next: the book still says that it is not clean.
  if (stop.stop_requested()) return;
  if (reason.empty())
    reason = judge_health(held.before, nvml_->read_health(gpu.device), held.xids).reason;
  {
    const std::scoped_lock lock(mutex_);
    const auto late = late_reasons_.extract(uuid);
    if (reason.empty() && !late.empty()) reason = late.mapped();
  }
  set_state(uuid, reason.empty() ? GpuState::free : GpuState::quarantined, reason);
}

void GpuPool::try_burn_ins() {
  if (options_.burn_in.empty()) return;
  for (const LeaseRecord& record : book_.read().value_or(std::vector<LeaseRecord>())) {
    const Gpu* const gpu = find(record.uuid);
    if (gpu == nullptr || record.state != GpuState::quarantined) continue;
    {
      const std::scoped_lock lock(mutex_);
      BurnIn& burn = burn_ins_[record.uuid];
      if (burn.is_running || steady_clock::now() < burn.next) continue;
      burn.is_running = true;
      burn.pause = std::clamp(burn.pause * 2, options_.burn_in_pause, kLongestPause);
    }
    start_worker(record.uuid, [this, gpu](const std::stop_token& stop) { burn_in(*gpu, stop); });
  }
}

void GpuPool::burn_in(const Gpu& gpu, const std::stop_token& stop) {
  const std::string& uuid = gpu.device.uuid;
  // What only a reset or a restart mends, no test of ours may talk away.
  std::string reason = judge_reading(nvml_->read_health(gpu.device)).reason;
  if (reason.empty()) {
    std::optional<std::set<pid_t>> monitors;
    {
      const std::scoped_lock lock(mutex_);
      if (const auto known = monitors_.find(uuid); known != monitors_.end())
        monitors = known->second;
    }
    // Who held the device before is not known: then it is the driver's list that counts.
    reason = wait_until_empty(*nvml_, gpu, monitors ? *monitors : node_users(gpu.nodes),
                              milliseconds(0), stop);
  }
  if (reason.empty()) reason = run_tool(options_.burn_in, uuid, options_.burn_in_limit, stop);
  if (reason.empty()) reason = judge_reading(nvml_->read_health(gpu.device)).reason;
  if (stop.stop_requested()) return;
  if (reason.empty()) set_state(uuid, GpuState::free, {});
  const std::scoped_lock lock(mutex_);
  if (reason.empty()) {
    burn_ins_.erase(uuid);
    late_reasons_.erase(uuid);
  } else {
    burn_ins_[uuid].is_running = false;
    burn_ins_[uuid].next = steady_clock::now() + burn_ins_[uuid].pause;
  }
}

}  // namespace sandbox::gpu
