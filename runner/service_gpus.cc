// GPUs: what the machine has, and the operator's word about each.
#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runner/service_core.h"
#include "runner/store/events.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using sandbox::gpu::GpuState;
using sandbox::gpu::GpuStatus;

// "of 4 GPUs here 3 are leased, 1 is cordoned"
std::string census(const std::vector<GpuStatus>& gpus) {
  std::array<int, 5> counts{};
  constexpr std::array<std::string_view, 5> kWords{"free", "leased", "cleaned", "quarantined",
                                                   "out of service"};
  for (const GpuStatus& gpu : gpus) {
    const bool is_out = !gpu.is_usable || (gpu.is_cordoned && gpu.state == GpuState::free);
    ++counts.at(is_out ? kWords.size() - 1 : static_cast<std::size_t>(gpu.state));
  }
  std::string text =
      "of " + std::to_string(gpus.size()) + " GPU" + (gpus.size() == 1 ? "" : "s") + " here";
  for (std::size_t kind = 0; kind < kWords.size(); ++kind)
    if (const int count = counts.at(kind); count > 0)
      text += (text.ends_with("here") ? " " : ", ") + std::to_string(count) +
              (count == 1 ? " is " : " are ") + std::string(kWords.at(kind));
  return text;
}

// An attempt wrote it: it may be anything.
std::string text_member(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Answer<std::optional<Why>> ServiceCore::why_gpus(const std::string& task) {
  const auto event = ASK(store_->read(
      [&](store::Database& database) { return store::last_gpu_event(database, task); }));
  if (!event || event->type != "gpu.waiting") return std::nullopt;
  const os::Result<nlohmann::json> data = sandbox::parse_json(event->data);
  if (!data || !data->is_object()) return std::nullopt;
  const std::string count = text_member(*data, "count");
  return Why{"gpu",
             "step '" + text_member(*data, "step") + "' waits for " + count + " GPU" +
                 (count == "1" ? "" : "s") + " since " + event->at + ": " +
                 census(ASK(context_.executor.probe()).gpus),
             "wait: it gets the next that are free together; `proofhouse gpu list` shows each"};
}

Answer<std::vector<sandbox::gpu::GpuStatus>> ServiceCore::gpus(const Actor& actor) {
  if (actor.grants.empty())
    return refuse("forbidden", "you have no role here", "ask an administrator for a grant");
  // Asked for anew: what the scheduler knows may be half a minute old.
  std::vector<GpuStatus> gpus = ASK(context_.executor.probe()).gpus;
  if (actor.has(Role::admin, "*")) return gpus;
  // Whose attempts run is for those who may see them.
  for (GpuStatus& gpu : gpus) {
    gpu.owner.clear();
    gpu.run.clear();
  }
  return gpus;
}

Answer<sandbox::gpu::GpuStatus> ServiceCore::cordon_gpu(const Actor& actor, const std::string& uuid,
                                                        bool is_cordoned,
                                                        const std::string& reason) {
  if (!actor.has(Role::admin, "*"))
    return refuse("forbidden", "only an administrator may do this", "ask an administrator");
  ASK(context_.executor.set_gpu_cordon(uuid, is_cordoned, reason));
  ASK(store_->write([&](store::Database& database) {
    return audit_.append(database, {.type = is_cordoned ? "gpu.cordoned" : "gpu.uncordoned",
                                    .actor = actor.principal.name,
                                    .project = {},
                                    .subject = uuid,
                                    .data = {{"reason", reason}}});
  }));
  const std::vector<sandbox::gpu::GpuStatus> list = ASK(context_.executor.probe()).gpus;
  const auto found = std::ranges::find(list, uuid, &sandbox::gpu::GpuStatus::uuid);
  if (found == list.end())
    return refuse("not_found", "no GPU " + uuid, "see `proofhouse gpu list`");
  return *found;
}

}  // namespace runner
