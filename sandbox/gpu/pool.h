// GpuPool: the GPUs of this machine as whoever leases them has them: inventory, book of leases,
// samples of what they do, and what is done before the next one gets them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/gpu/inventory.h"
#include "sandbox/gpu/lease.h"
#include "sandbox/os/fd.h"

namespace sandbox::gpu {

// Who takes a lease.
struct LeaseHolder {
  std::string owner;      // attempt and fence
  HolderProcess process;  // with it ends the lease, whatever happens
  // CPU time of the run so far, in microseconds, to tell a starved GPU from an idle one; called on
  // the pool's thread until the lease is released. Null: unknown.
  std::function<std::int64_t()> cpu_us;
};

// Safe from any thread. Its own threads sample, watch for errors and clean; they end with it, and
// what they were at is taken up by the next program that opens a pool.
class GpuPool {
 public:
  // not_found: this machine has no GPU to lease (no driver, none allowed).
  static os::Result<std::unique_ptr<GpuPool>> open(PoolOptions options);
  ~GpuPool();
  GpuPool(const GpuPool&) = delete;
  GpuPool& operator=(const GpuPool&) = delete;

  std::vector<GpuStatus> list() const;
  const Inventory& inventory() const { return inventory_; }

  // All GPUs of the request or none. exhausted: not now; invalid: never here.
  os::Result<Lease> acquire(const LeaseRequest& request, const LeaseHolder& holder);
  // The grant of a held lease, for the jail.
  os::Result<GpuGrant> grant(const std::string& owner, const std::string& run) const;
  // Ends a lease: reads the errors, then cleans in the background. not_found: there is none.
  os::Result<LeaseEnd> release(const std::string& owner, const std::string& run);
  // Ends all leases of an owner that is gone.
  void release_all(const std::string& owner);

  // Takes a GPU out of service after its present lease, by the operator's word.
  os::Result<void> cordon(const std::string& uuid, const std::string& reason);
  // Takes that back. A quarantined GPU gets its burn-in now.
  os::Result<void> uncordon(const std::string& uuid);

  // For poll(2): readable when a GPU may have become free since the last acknowledge().
  int changed_fd() const { return changed_.get(); }
  void acknowledge() const;

 private:
  // One GPU held through this pool.
  struct Held {
    std::string owner, run;
    std::function<std::int64_t()> cpu_us;
    HealthReading before;
    std::set<pid_t> processes_before;
    TelemetrySum sum;
    std::vector<int> xids;
  };

  GpuPool(PoolOptions options, std::unique_ptr<Nvml> nvml, Inventory inventory, LeaseBook book,
          os::Fd changed);
  const Gpu* find(const std::string& uuid) const;
  bool is_held(const std::string& uuid) const;
  std::vector<Candidate> candidates(const std::vector<LeaseRecord>& records,
                                    const std::set<std::string>& without) const;
  os::Result<std::vector<std::string>> reserve(const LeaseRequest& request,
                                               const LeaseHolder& holder,
                                               const std::set<std::string>& without);
  std::string take(const std::string& uuid, const LeaseRequest& request, const LeaseHolder& holder);
  void put_back(const std::string& uuid);
  GpuUse end_use(const Gpu& gpu, Held& held, LeaseEnd& end);
  void sample_held();
  void drain_xids();
  void note_xid(const XidEvent& event);
  void note_unleased_xid(const NvmlDevice& device, int xid);
  void take_over();
  void try_burn_ins();
  void watch(const std::stop_token& stop);
  void start_cleaning(const std::string& uuid, Held held, std::string reason);
  void clean(const Gpu& gpu, const Held& held, std::string reason, const std::stop_token& stop);
  void burn_in(const Gpu& gpu, const std::stop_token& stop);
  void start_worker(const std::string& uuid, std::function<void(const std::stop_token&)> work);
  void set_state(const std::string& uuid, GpuState state, const std::string& reason);
  void tell() const;

  PoolOptions options_;
  std::unique_ptr<Nvml> nvml_;
  Inventory inventory_;
  LeaseBook book_;
  os::Fd changed_;
  HolderProcess self_;
  std::mutex xid_mutex_;  // taken before mutex_
  mutable std::mutex mutex_;
  std::map<std::string, Held> held_;  // by UUID
  struct BurnIn {
    std::chrono::steady_clock::time_point next;
    std::chrono::milliseconds pause{0};
    bool is_running = false;
  };
  std::map<std::string, BurnIn> burn_ins_;           // of quarantined GPUs
  std::map<std::string, std::string> late_reasons_;  // errors seen while nobody had the GPU
  std::map<std::string, std::set<pid_t>> monitors_;  // who held the device before its last lease
  std::map<std::string, std::jthread> workers_;      // by UUID
  std::jthread watcher_;                             // last: ended before the rest goes
};

}  // namespace sandbox::gpu
