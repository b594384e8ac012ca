#include "tasks/step_gpus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tasks {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

os::Result<milliseconds> StepGpus::lease(const Step& step, sandbox::RunRequest& request,
                                         RunRecord& record) {
  if (!step.gpu) return milliseconds(0);
  events_.append(
      "gpu.waiting",
      {{"run", record.id}, {"step", step.name.str()}, {"count", std::to_string(step.gpu->count)}});
  sandbox::gpu::LeaseRequest wish{.run = record.id,
                                  .count = step.gpu->count,
                                  .min_memory = step.gpu->min_memory,
                                  .exclusive = step.gpu->exclusive,
                                  .same = {}};
  if (record.key.pair) wish.same = compared_on_[step.name];
  const steady_clock::time_point begin = steady_clock::now();
  sandbox::gpu::Lease lease =
      TRY_CONTEXT(desk_.acquire(wish, wait_left_, cancel_fd_), "GPU for step " + step.name.str());
  const auto waited = duration_cast<milliseconds>(steady_clock::now() - begin);
  wait_left_ = std::max(wait_left_ - waited, milliseconds(1));
  if (record.key.pair) compared_on_[step.name] = lease.uuids;
  record.gpu = GpuRecord{};
  record.gpu->wait_ms = waited.count();
  record.gaps = lease.gaps;
  request.gpus = true;
  sandbox::gpu::add_variables(lease, request.environment);
  events_.append("gpu.leased",
                 {{"run", record.id}, {"gpus", fmt::format("{}", fmt::join(lease.uuids, ","))}});
  return waited;
}

os::Result<void> StepGpus::end(RunRecord& record) {
  if (!record.gpu) return {};
  const std::string context = "GPU of step " + record.key.step.str();
  sandbox::gpu::LeaseEnd end = TRY_CONTEXT(desk_.release(record.id), context);
  record.gpu->driver = std::move(end.driver);
  record.gpu->uses = std::move(end.uses);
  events_.append("gpu.released", {{"run", record.id}, {"fault", end.fault}});
  if (end.fault.empty()) return {};
  return os::fail(os::Code::unavailable, context + ": it failed during the run: " + end.fault);
}

}  // namespace tasks
