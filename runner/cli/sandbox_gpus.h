// GPUs of a `sandbox run`: leased from the machine's book as an executor leases them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sandbox/gpu/pool.h"
#include "sandbox/os/fd.h"
#include "sandbox/request.h"

namespace runner::cli {

// The GPUs of one run. Not thread-safe. Destroyed, it leaves a GPU that is not clean yet to whoever
// leases next.
class SandboxGpus {
 public:
  // `grants`: directory for the jail's grants, made here. not_found: no GPU here may be leased.
  static os::Result<std::unique_ptr<SandboxGpus>> open(sandbox::gpu::PoolOptions options,
                                                       std::string grants);

  // For the jail's start.
  int grants() const { return directory_.get(); }
  const std::vector<sandbox::DriverFile>& driver_files() const;

  // Leases `count` GPUs to the run `request` in the cgroup `group`, until `jail` ends at the
  // latest, and puts them into the request. Waits only for GPUs that are being cleaned; exhausted:
  // others have them.
  os::Result<sandbox::gpu::Lease> lease(int count, const sandbox::gpu::HolderProcess& jail,
                                        const std::string& group, sandbox::RunRequest& request);
  // Ends the lease and waits until its GPUs are clean or quarantined.
  os::Result<sandbox::gpu::LeaseEnd> release();

 private:
  SandboxGpus(sandbox::gpu::PoolOptions options, std::unique_ptr<sandbox::gpu::GpuPool> pool,
              std::string grants, os::Fd directory);
  // Until no GPU is being cleaned, at most as long as that may take.
  void settle() const;

  sandbox::gpu::PoolOptions options_;
  std::unique_ptr<sandbox::gpu::GpuPool> pool_;
  std::string grants_;
  os::Fd directory_;
  std::string owner_, run_;
};

}  // namespace runner::cli
