// GpuDesk: the executor's side of leasing GPUs to the steps of attempts (sandbox/gpu/desk.h).
#pragma once

#include <poll.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runner/executor/launch.h"
#include "sandbox/cgroup.h"
#include "sandbox/gpu/desk.h"
#include "sandbox/gpu/pool.h"

namespace runner {

// Used by the executor's loop alone. Where a machine has no GPU there is no desk.
class GpuDesk {
 public:
  // Null where no GPU can be leased here: `why` says what is missing.
  static std::unique_ptr<GpuDesk> open(const ExecutorOptions& options, std::string& why);

  std::vector<sandbox::gpu::GpuStatus> list() const { return pool_->list(); }
  os::Result<void> set_cordon(const std::string& uuid, bool is_cordoned, const std::string& reason);

  // Makes the place of grants and the socket for an attempt that is about to be launched, and after
  // that names its jail, with whose end its leases end.
  os::Result<DeskSeat> prepare(const std::string& key);
  void seat(const Living& living);
  // The attempt is gone: takes everything back.
  void leave(const std::string& key);
  // No attempt lives: removes what an executor left that was killed.
  void sweep() const;

  // What to wait for besides; -1: for ever, else at most so many milliseconds.
  void add_polls(std::vector<pollfd>& polls) const;
  int poll_limit() const { return waiting_.empty() ? -1 : 1000; }
  // Answers what has come and gives out what became free. Never blocks on a client.
  void serve();

 private:
  struct Seat {
    os::Fd socket;
    std::string grants;  // directory
    std::string cgroup;
    sandbox::gpu::HolderProcess jail;
  };
  struct Waiting {
    std::string key;
    sandbox::gpu::LeaseRequest request;
    int overtaken = 0;
  };

  GpuDesk(const ExecutorOptions& options, std::unique_ptr<sandbox::gpu::GpuPool> pool,
          sandbox::CgroupHost cgroups);
  void take(const std::string& key, Seat& seat, const std::string& packet);
  os::Result<sandbox::gpu::Lease> lease(const std::string& key, const Seat& seat,
                                        const sandbox::gpu::LeaseRequest& request);
  void give_out();

  std::string instance_;
  std::unique_ptr<sandbox::gpu::GpuPool> pool_;
  sandbox::CgroupHost cgroups_;
  std::map<std::string, Seat> seats_;
  std::deque<Waiting> waiting_;
};

}  // namespace runner
