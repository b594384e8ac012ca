#include "sandbox/gpu/pool.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sandbox/gpu/release.h"
#include "sandbox/gpu/survey.h"
#include "sandbox/os/process_info.h"

namespace sandbox::gpu {
namespace {

// Where /driver is shown to commands with a GPU (see DriverFile).
constexpr const char* kDriverPath = "LD_LIBRARY_PATH=/driver";

std::string now_text() { return os::format_time(std::chrono::system_clock::now()); }

}  // namespace

GpuPool::GpuPool(PoolOptions options, std::unique_ptr<Nvml> nvml, Inventory inventory,
                 LeaseBook book, os::Fd changed)
    : options_(std::move(options)),
      nvml_(std::move(nvml)),
      inventory_(std::move(inventory)),
      book_(std::move(book)),
      changed_(std::move(changed)) {
  self_.pid = ::getpid();
  self_.start_time = os::process_start_time(self_.pid).value_or(0);
}

GpuPool::~GpuPool() {
  watcher_ = {};
  std::map<std::string, std::jthread> workers;
  {
    const std::scoped_lock lock(mutex_);
    workers.swap(workers_);
  }
  for (auto& [uuid, worker] : workers) worker.request_stop();
}

os::Result<std::unique_ptr<GpuPool>> GpuPool::open(PoolOptions options) {
  std::unique_ptr<Nvml> nvml = TRY(Nvml::load(options.inventory.nvml));
  Inventory inventory = TRY(take_inventory(*nvml, options.inventory));
  if (inventory.gpus.empty()) return os::fail(os::Code::not_found, "no GPU may be leased here");
  LeaseBook book = TRY(LeaseBook::open(options.book));
  os::Fd changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed.is_open()) return os::fail_errno("eventfd");
  for (Gpu& gpu : inventory.gpus) {
    const os::Result<void> watched = nvml->watch(gpu.device);
    if (!watched && gpu.unusable.empty()) gpu.unusable = watched.error().message;
  }
  TRY(book.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
    for (const Gpu& gpu : inventory.gpus) record_of(records, gpu.device.uuid);
    return {};
  }));
  std::unique_ptr<GpuPool> pool(new GpuPool(std::move(options), std::move(nvml),
                                            std::move(inventory), std::move(book),
                                            std::move(changed)));
  pool->take_over();
  pool->watcher_ =
      std::jthread([raw = pool.get()](const std::stop_token& stop) { raw->watch(stop); });
  return pool;
}

void GpuPool::tell() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(changed_.get(), &one, sizeof one);
}

void GpuPool::acknowledge() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(changed_.get(), &count, sizeof count);
}

const Gpu* GpuPool::find(const std::string& uuid) const {
  const auto found = std::ranges::find_if(inventory_.gpus,
                                          [&](const Gpu& gpu) { return gpu.device.uuid == uuid; });
  return found == inventory_.gpus.end() ? nullptr : &*found;
}

bool GpuPool::is_held(const std::string& uuid) const {
  const std::scoped_lock lock(mutex_);
  return held_.contains(uuid);
}

std::vector<GpuStatus> GpuPool::list() const {
  std::vector<GpuStatus> list =
      gpu_statuses(inventory_, book_.read().value_or(std::vector<LeaseRecord>()), options_);
  const std::scoped_lock lock(mutex_);
  for (GpuStatus& gpu : list)
    if (const auto held = held_.find(gpu.uuid); held != held_.end())
      gpu.telemetry = held->second.sum.sum();
  return list;
}

std::vector<Candidate> GpuPool::candidates(const std::vector<LeaseRecord>& records,
                                           const std::set<std::string>& without) const {
  std::vector<Candidate> candidates;
  for (const Gpu& gpu : inventory_.gpus) {
    const auto record = std::ranges::find(records, gpu.device.uuid, &LeaseRecord::uuid);
    if (record == records.end() || !gpu.unusable.empty()) continue;
    const bool is_leased = record->state == GpuState::leased || record->state == GpuState::cleaning;
    const bool is_in_service = record->state != GpuState::quarantined && !record->is_cordoned;
    candidates.push_back({.uuid = gpu.device.uuid,
                          .parent = gpu.device.parent,
                          .memory = gpu.device.memory,
                          .is_free = record->state == GpuState::free && is_in_service &&
                                     !without.contains(gpu.device.uuid),
                          .is_in_service = is_in_service,
                          .has_exclusive_lease = record->is_exclusive && is_leased,
                          .is_leased = is_leased,
                          .uses = record->uses});
  }
  return candidates;
}

os::Result<std::vector<std::string>> GpuPool::reserve(const LeaseRequest& request,
                                                      const LeaseHolder& holder,
                                                      const std::set<std::string>& without) {
  std::vector<std::string> uuids;
  TRY(book_.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
    uuids = TRY(choose_gpus(candidates(records, without), request));
    for (const std::string& uuid : uuids) {
      LeaseRecord& record = record_of(records, uuid);
      record.state = GpuState::leased;
      record.is_exclusive = request.exclusive;
      record.reason.clear();
      record.since = now_text();
      record.owner = holder.owner;
      record.run = request.run;
      record.holder = holder.process;
      ++record.uses;
    }
    return {};
  }));
  return uuids;
}

// Why the GPU cannot be had after all; empty: it is held.
std::string GpuPool::take(const std::string& uuid, const LeaseRequest& request,
                          const LeaseHolder& holder) {
  const Gpu& gpu = *find(uuid);
  Held held;
  held.owner = holder.owner;
  held.run = request.run;
  held.cpu_us = holder.cpu_us;
  held.before = nvml_->read_health(gpu.device);
  if (const HealthVerdict verdict = judge_reading(held.before); verdict.quarantine) {
    set_state(uuid, GpuState::quarantined, verdict.reason);
    return verdict.reason;
  }
  // Whoever computes on it is no monitor: it does not belong to us now.
  const os::Result<std::vector<int>> others = nvml_->processes(gpu.device);
  if (!others || !others->empty()) {
    set_state(uuid, GpuState::free, {});
    return others ? "somebody else's process is on it" : others.error().message;
  }
  held.processes_before = leftovers(*nvml_, gpu, {}).value_or(std::set<pid_t>());
  const std::scoped_lock lock(mutex_);
  held_.insert_or_assign(uuid, std::move(held));
  return {};
}

// A GPU that was taken together with one that could not be had: nobody used it.
void GpuPool::put_back(const std::string& uuid) {
  {
    const std::scoped_lock lock(mutex_);
    if (held_.erase(uuid) == 0) return;
  }
  set_state(uuid, GpuState::free, {});
}

os::Result<Lease> GpuPool::acquire(const LeaseRequest& request, const LeaseHolder& holder) {
  if (options_.scrub.empty() && !options_.may_skip_scrub)
    return os::fail(os::Code::unavailable,
                    "nothing here can scrub a GPU's memory: build with nvcc, or allow the gap "
                    "gpu_scrub");
  Lease lease;
  lease.run = request.run;
  // Each round leaves one GPU out that turned out not to be there to be had.
  for (std::set<std::string> without; lease.uuids.empty();) {
    const std::vector<std::string> uuids = TRY(reserve(request, holder, without));
    const std::size_t failed = without.size();
    for (const std::string& uuid : uuids)
      if (!take(uuid, request, holder).empty()) without.insert(uuid);
    if (without.size() == failed)
      lease.uuids = uuids;
    else
      for (const std::string& uuid : uuids) put_back(uuid);
  }
  sample_held();
  lease.environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(lease.uuids, ",")));
  if (!inventory_.driver_files.empty()) lease.environment.emplace_back(kDriverPath);
  if (options_.scrub.empty()) lease.gaps.emplace_back(kScrubGap);
  return lease;
}

os::Result<GpuGrant> GpuPool::grant(const std::string& owner, const std::string& run) const {
  GpuGrant grant;
  grant.run = run;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uuid, held] : held_) {
    if (held.owner != owner || held.run != run) continue;
    grant.uuids.push_back(uuid);
    for (const GpuNode& node : find(uuid)->nodes)
      if (std::ranges::find(grant.nodes, node) == grant.nodes.end()) grant.nodes.push_back(node);
  }
  if (grant.uuids.empty()) return os::fail(os::Code::not_found, "no lease of " + run);
  return grant;
}

GpuUse GpuPool::end_use(const Gpu& gpu, Held& held, LeaseEnd& end) {
  Sample last = nvml_->read_sample(gpu.device);
  last.at = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
  last.cpu_us = held.cpu_us ? held.cpu_us() : 0;
  held.sum.add(last);
  GpuUse use{.uuid = gpu.device.uuid,
             .name = gpu.device.name,
             .telemetry = held.sum.sum(),
             .xids = held.xids};
  const HealthVerdict verdict =
      judge_health(held.before, nvml_->read_health(gpu.device), held.xids);
  if (verdict.quarantine && end.fault.empty())
    end.fault = fmt::format("{}: {}", gpu.device.uuid, verdict.reason);
  start_cleaning(gpu.device.uuid, std::move(held),
                 verdict.quarantine ? verdict.reason : std::string());
  return use;
}

os::Result<LeaseEnd> GpuPool::release(const std::string& owner, const std::string& run) {
  // What the driver has reported up to now belongs to this lease.
  drain_xids();
  std::map<std::string, Held> ended;
  {
    const std::scoped_lock lock(mutex_);
    for (auto at = held_.begin(); at != held_.end();) {
      if (at->second.owner == owner && at->second.run == run) {
        ended.insert(held_.extract(at++));
      } else {
        ++at;
      }
    }
  }
  if (ended.empty()) return os::fail(os::Code::not_found, "no lease of " + run);
  LeaseEnd end;
  end.driver = inventory_.driver;
  for (auto& [uuid, held] : ended) end.uses.push_back(end_use(*find(uuid), held, end));
  return end;
}

void GpuPool::release_all(const std::string& owner) {
  std::set<std::string> runs;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uuid, held] : held_)
      if (held.owner == owner) runs.insert(held.run);
  }
  for (const std::string& run : runs) static_cast<void>(release(owner, run).has_value());
  // Leases that an earlier program gave out.
  take_over();
}

os::Result<void> GpuPool::cordon(const std::string& uuid, const std::string& reason) {
  if (find(uuid) == nullptr) return os::fail(os::Code::not_found, "no GPU " + uuid);
  return book_.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
    LeaseRecord& record = record_of(records, uuid);
    record.is_cordoned = true;
    record.cordon_reason = reason;
    return {};
  });
}

os::Result<void> GpuPool::uncordon(const std::string& uuid) {
  if (find(uuid) == nullptr) return os::fail(os::Code::not_found, "no GPU " + uuid);
  TRY(book_.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
    LeaseRecord& record = record_of(records, uuid);
    record.is_cordoned = false;
    record.cordon_reason.clear();
    return {};
  }));
  {
    const std::scoped_lock lock(mutex_);
    const auto burn = burn_ins_.find(uuid);
    if (burn != burn_ins_.end()) burn->second.next = {};
  }
  tell();
  return {};
}

void GpuPool::set_state(const std::string& uuid, GpuState state, const std::string& reason) {
  const os::Result<void> written =
      book_.update([&](std::vector<LeaseRecord>& records) -> os::Result<void> {
        LeaseRecord& record = record_of(records, uuid);
        record.state = state;
        record.reason = reason;
        record.since = now_text();
        record.holder = state == GpuState::cleaning ? self_ : HolderProcess{};
        if (state == GpuState::cleaning) return {};
        record.owner.clear();
        record.run.clear();
        return {};
      });
  // A book that cannot be written leases nothing: the state stays what it was, not free.
  static_cast<void>(written.has_value());
  tell();
}

}  // namespace sandbox::gpu
