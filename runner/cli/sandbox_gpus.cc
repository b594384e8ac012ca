#include "runner/cli/sandbox_gpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_files.h"
#include "sandbox/gpu/desk.h"
#include "sandbox/gpu/release.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using sandbox::gpu::GpuState;
using sandbox::gpu::GpuStatus;

constexpr std::chrono::milliseconds kLookAgain{50};

}  // namespace

SandboxGpus::SandboxGpus(sandbox::gpu::PoolOptions options,
                         std::unique_ptr<sandbox::gpu::GpuPool> pool, std::string grants,
                         os::Fd directory)
    : options_(std::move(options)),
      pool_(std::move(pool)),
      grants_(std::move(grants)),
      directory_(std::move(directory)),
      owner_("sandbox-run." + std::to_string(::getpid())) {}

os::Result<std::unique_ptr<SandboxGpus>> SandboxGpus::open(sandbox::gpu::PoolOptions options,
                                                           std::string grants) {
  sandbox::gpu::find_tools(options, TRY(os::program_directory()));
  TRY(os::make_directories(grants, 0700));
  os::Fd directory = TRY(os::open_file(grants, O_PATH | O_DIRECTORY));
  std::unique_ptr<sandbox::gpu::GpuPool> pool = TRY(sandbox::gpu::GpuPool::open(options));
  return std::unique_ptr<SandboxGpus>(new SandboxGpus(std::move(options), std::move(pool),
                                                      std::move(grants), std::move(directory)));
}

const std::vector<sandbox::DriverFile>& SandboxGpus::driver_files() const {
  return pool_->inventory().driver_files;
}

void SandboxGpus::settle() const {
  const auto deadline =
      std::chrono::steady_clock::now() + options_.leftover_limit + options_.scrub_limit;
  const auto is_cleaned = [](const GpuStatus& gpu) { return gpu.state == GpuState::cleaning; };
  while (std::ranges::any_of(pool_->list(), is_cleaned) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(kLookAgain);
}

os::Result<sandbox::gpu::Lease> SandboxGpus::lease(int count,
                                                   const sandbox::gpu::HolderProcess& jail,
                                                   const std::string& group,
                                                   sandbox::RunRequest& request) {
  const sandbox::CgroupHost host = TRY(sandbox::CgroupHost::detect());
  sandbox::gpu::LeaseRequest wish;
  wish.run = request.id;
  wish.count = count;
  const sandbox::gpu::LeaseHolder holder{.owner = owner_, .process = jail, .cpu_us = [host, group] {
                                           return sandbox::group_cpu_us(host, group);
                                         }};
  os::Result<sandbox::gpu::Lease> lease = pool_->acquire(wish, holder);
  if (!lease && lease.error().code == os::Code::exhausted) {
    settle();
    lease = pool_->acquire(wish, holder);
  }
  if (!lease) return lease;
  run_ = request.id;
  TRY(os::write_file_durably(grants_ + "/" + run_, sandbox::encode(TRY(pool_->grant(owner_, run_))),
                             0600));
  request.gpus = true;
  sandbox::gpu::add_variables(*lease, request.environment);
  return lease;
}

os::Result<sandbox::gpu::LeaseEnd> SandboxGpus::release() {
  sandbox::gpu::LeaseEnd end = TRY(pool_->release(owner_, run_));
  settle();
  return end;
}

}  // namespace runner::cli
