#include "runner/cli/doctor.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runner/cli/terminal.h"
#include "sandbox/cgroup.h"
#include "sandbox/gpu/desk.h"
#include "sandbox/gpu/release.h"
#include "sandbox/gpu/survey.h"
#include "sandbox/host.h"
#include "sandbox/os/process_info.h"
#include "sandbox/os/units.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using sandbox::Feature;

// Which row of the support matrix this is.
std::string host_row() {
  if (::geteuid() != 0) return "rootless";
  if (std::getenv("SLURM_JOB_ID") != nullptr) return "slurm step";
  const bool in_container = ::access("/.dockerenv", F_OK) == 0 ||
                            ::access("/run/.containerenv", F_OK) == 0 ||
                            std::getenv("container") != nullptr;
  if (in_container) return "container";
  const os::Result<sandbox::CgroupHost> groups = sandbox::CgroupHost::detect();
  const bool is_delegated =
      groups && std::ranges::any_of(groups->hierarchies(),
                                    [](const auto& hierarchy) { return hierarchy.base != "/"; });
  return is_delegated ? "systemd with Delegate" : "bare root";
}

// The programs that have to lie beside this one.
Feature probe_programs() {
  Feature feature{"programs", true, true, "jail, attempt, ingest and reader lie beside us", ""};
  const os::Result<std::string> directory = os::program_directory();
  std::string missing;
  for (const char* const name : {"jail", "attempt", "ingest", "reader"})
    if (!directory || ::access((*directory + "/" + name).c_str(), X_OK) != 0)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  if (missing.empty()) return feature;
  feature.present = false;
  feature.detail = "not beside proofhouse: " + missing;
  feature.remedy = "./dev build, or install all programs into one directory";
  return feature;
}

Feature probe_ids() {
  Feature feature{"id_range", true, true, "", ""};
  const os::Result<sandbox::IdSlot> slot = sandbox::IdSlot::take();
  if (slot) {
    feature.detail = fmt::format("{} ids from {} on", slot->range().count, slot->range().start);
    return feature;
  }
  feature.present = false;
  feature.detail = slot.error().message;
  feature.remedy = "run as root; keep 939524096 and up out of /etc/subuid";
  return feature;
}

using GpuList = os::Result<sandbox::gpu::GpuSurvey>;

GpuList find_gpus(const os::Result<sandbox::gpu::PoolOptions>& configured) {
  sandbox::gpu::PoolOptions options = TRY(configured);
  sandbox::gpu::find_tools(options, TRY(os::program_directory()));
  return sandbox::gpu::survey_gpus(options);
}

Feature probe_gpus(const GpuList& list) {
  Feature feature{"gpu", false, false, "", ""};
  if (!list) {
    feature.detail = list.error().message;
    feature.remedy = "only for steps with `gpu`: NVIDIA's driver, and `gpus` in the configuration";
    return feature;
  }
  const auto count = std::ranges::count_if(list->gpus, [](const sandbox::gpu::GpuStatus& gpu) {
    return gpu.is_usable && !gpu.is_cordoned && gpu.state != sandbox::gpu::GpuState::quarantined;
  });
  feature.present = count > 0;
  feature.detail =
      fmt::format("{} of {} GPUs can be leased, driver {}", count, list->gpus.size(), list->driver);
  feature.remedy = "see the reason of each below";
  return feature;
}

void show_gpus(const sandbox::gpu::GpuSurvey& survey) {
  for (const sandbox::gpu::GpuStatus& gpu : survey.gpus)
    fmt::print("  {:<8} {:<17} {}, {} MiB: {}{}{}{}\n", "", gpu.uuid, escape_line(gpu.name),
               gpu.memory.count >> 20U, sandbox::gpu::gpu_state_name(gpu.state),
               gpu.is_cordoned ? ", cordoned" : "", gpu.reason.empty() ? "" : ": ",
               escape_line(gpu.reason));
  for (const std::string& line : survey.left_out)
    fmt::print("  {:<8} {:<17} without effect in CDI: {}\n", "", "", escape_line(line));
}

std::string kernel() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
}

void show_text(const std::vector<Feature>& features, const GpuList& gpus, bool is_ready) {
  const os::Result<os::Bytes> memory = sandbox::total_memory();
  fmt::print("{}, {}, {} CPUs, {} MiB of memory\n", host_row(), kernel(),
             sandbox::available_cpus().size(), memory ? memory->count >> 20U : 0);
  for (const Feature& feature : features) {
    const char* const word = feature.present ? "ok" : feature.required ? "missing" : "without";
    fmt::print("  {:<8} {:<17} {}\n", word, feature.name, feature.detail);
    if (!feature.present) fmt::print("  {:<8} {:<17} to mend: {}\n", "", "", feature.remedy);
  }
  if (gpus) show_gpus(*gpus);
  fmt::print("{}\n", is_ready ? "Sandboxes can run here; everything required is enforced."
                              : "No sandbox runs here until what is missing is mended, or allowed "
                                "by name (sandbox.allow_gaps).");
}

void show_json(const std::vector<Feature>& features, const GpuList& gpus, bool is_ready) {
  nlohmann::json list = nlohmann::json::array();
  for (const Feature& feature : features)
    list.push_back({{"name", feature.name},
                    {"required", feature.required},
                    {"present", feature.present},
                    {"detail", feature.detail},
                    {"remedy", feature.remedy}});
  nlohmann::json found = nlohmann::json::array();
  if (gpus)
    for (const sandbox::gpu::GpuStatus& gpu : gpus->gpus)
      found.push_back(sandbox::gpu::to_json(gpu));
  const os::Result<os::Bytes> memory = sandbox::total_memory();
  const std::string text = sandbox::dump_json({{"schema", 1},
                                               {"host", host_row()},
                                               {"kernel", kernel()},
                                               {"cpus", sandbox::available_cpus().size()},
                                               {"memory", memory ? memory->count : 0},
                                               {"ready", is_ready},
                                               {"features", std::move(list)},
                                               {"gpus", std::move(found)}});
  print_json(text);
}

}  // namespace

int run_doctor(bool json, const os::Result<sandbox::gpu::PoolOptions>& configured) {
  std::vector<Feature> features = sandbox::probe_host();
  features.push_back(probe_ids());
  features.push_back(probe_programs());
  const GpuList gpus = find_gpus(configured);
  features.push_back(probe_gpus(gpus));
  const bool is_ready = sandbox::missing_features(features, {}).empty();
  json ? show_json(features, gpus, is_ready) : show_text(features, gpus, is_ready);
  return is_ready ? 0 : 1;
}

}  // namespace runner::cli
