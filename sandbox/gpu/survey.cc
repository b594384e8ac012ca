#include "sandbox/gpu/survey.h"

#include <memory>
#include <utility>

namespace sandbox::gpu {
namespace {

// What keeps a GPU from every sandbox here; empty: nothing does.
std::string lack_of(const Gpu& gpu, const PoolOptions& options) {
  if (!gpu.unusable.empty()) return gpu.unusable;
  if (!options.scrub.empty() || options.may_skip_scrub) return {};
  return "nothing here can scrub its memory (build with nvcc, or allow the gap gpu_scrub)";
}

}  // namespace

std::vector<GpuStatus> gpu_statuses(const Inventory& inventory, std::vector<LeaseRecord> records,
                                    const PoolOptions& options) {
  std::vector<GpuStatus> list;
  for (const Gpu& gpu : inventory.gpus) {
    const LeaseRecord& record = record_of(records, gpu.device.uuid);
    const std::string lack = lack_of(gpu, options);
    GpuStatus status{.uuid = gpu.device.uuid,
                     .name = gpu.device.name,
                     .parent = gpu.device.parent,
                     .index = gpu.device.index,
                     .memory = gpu.device.memory,
                     .state = record.state,
                     .is_cordoned = record.is_cordoned,
                     .is_usable = lack.empty(),
                     .reason = record.reason,
                     .since = record.since,
                     .owner = record.owner,
                     .run = record.run,
                     .uses = record.uses,
                     .telemetry = {}};
    if (status.reason.empty() && record.is_cordoned) status.reason = record.cordon_reason;
    if (status.reason.empty()) status.reason = lack;
    list.push_back(std::move(status));
  }
  return list;
}

os::Result<GpuSurvey> survey_gpus(const PoolOptions& options) {
  const std::unique_ptr<Nvml> nvml = TRY(Nvml::load(options.inventory.nvml));
  Inventory inventory = TRY(take_inventory(*nvml, options.inventory));
  if (inventory.gpus.empty()) return os::fail(os::Code::not_found, "no GPU may be leased here");
  std::vector<LeaseRecord> records = TRY(LeaseBook::look_at(options.book).read());
  GpuSurvey survey;
  survey.gpus = gpu_statuses(inventory, std::move(records), options);
  survey.driver = std::move(inventory.driver);
  survey.left_out = std::move(inventory.left_out);
  return survey;
}

}  // namespace sandbox::gpu
