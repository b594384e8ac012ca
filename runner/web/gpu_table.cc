#include "runner/web/gpu_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runner/web/page.h"

namespace runner::web {
namespace {

using sandbox::gpu::GpuStatus;
using sandbox::gpu::GpuTelemetry;

void add(GpuTelemetry& sum, const GpuTelemetry& other) {
  const std::int64_t held = sum.held_ms + other.held_ms;
  if (held > 0)
    sum.power_mean_mw =
        (sum.power_mean_mw * sum.held_ms + other.power_mean_mw * other.held_ms) / held;
  sum.held_ms = held;
  sum.busy_ms += other.busy_ms;
  sum.starved_ms += other.starved_ms;
  sum.idle_ms += other.idle_ms;
  sum.energy_mj += other.energy_mj;
  sum.utilisation_peak_percent =
      std::max(sum.utilisation_peak_percent, other.utilisation_peak_percent);
  sum.memory_peak = std::max(sum.memory_peak, other.memory_peak);
  sum.power_peak_mw = std::max(sum.power_peak_mw, other.power_peak_mw);
}

std::string errors_text(const std::map<int, int>& counts) {
  std::string text;
  for (const auto& [xid, count] : counts) {
    text += fmt::format("{}Xid {}", text.empty() ? "" : ", ", xid);
    if (count > 1) text += fmt::format(" ({} times)", count);
  }
  return text;
}

// "62 %" of the time held, with the exact time as its title.
void add_time(Html& out, std::int64_t part_ms, std::int64_t held_ms) {
  out << "<td class=\"num\" title=\"" << duration_text(part_ms) << "\">"
      << (held_ms > 0 ? part_ms * 100 / held_ms : 0) << " %</td>";
}

// The columns that add_telemetry fills.
constexpr Markup kTelemetryHeads =
    "<th scope=\"col\" class=\"num\">Held</th>"
    "<th scope=\"col\" class=\"num\" title=\"A kernel ran\">Busy</th>"
    "<th scope=\"col\" class=\"num\" title=\"No kernel ran while the command used the CPU\">"
    "Starved</th><th scope=\"col\" class=\"num\">Idle</th>"
    "<th scope=\"col\" class=\"num\">Utilisation, peak</th>"
    "<th scope=\"col\" class=\"num\">Memory, peak</th>"
    "<th scope=\"col\" class=\"num\">Power, mean</th>";

void add_telemetry(Html& out, const GpuTelemetry& sum) {
  out << "<td class=\"num\">" << duration_text(sum.held_ms) << "</td>";
  for (const std::int64_t part : {sum.busy_ms, sum.starved_ms, sum.idle_ms})
    add_time(out, part, sum.held_ms);
  out << "<td class=\"num\">" << sum.utilisation_peak_percent << " %</td><td class=\"num\">"
      << bytes_text(sum.memory_peak) << "</td><td class=\"num\">"
      << fmt::format("{:.1f} W", static_cast<double>(sum.power_mean_mw) / 1000) << "</td>";
}

void begin_table(Html& out, Markup label) {
  out << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" << label
      << "\"><table class=\"list\"><thead><tr>";
}

}  // namespace

std::vector<GpuShare> gpu_shares(const tasks::Evidence& evidence) {
  std::vector<GpuShare> shares;
  std::vector<std::map<int, int>> errors;
  for (const tasks::RunRecord& run : evidence.runs) {
    if (!run.gpu || run.carried) continue;
    for (const sandbox::gpu::GpuUse& use : run.gpu->uses) {
      const std::string side(tasks::side_name(run.key.side));
      auto share = std::ranges::find_if(shares, [&](const GpuShare& one) {
        return one.step == run.key.step.str() && one.side == side && one.uuid == use.uuid;
      });
      if (share == shares.end()) {
        shares.push_back({run.key.step.str(), side, use.name, use.uuid, 0, {}, {}});
        errors.emplace_back();
        share = shares.end() - 1;
      }
      ++share->leases;
      add(share->telemetry, use.telemetry);
      std::map<int, int>& counts = errors[static_cast<std::size_t>(share - shares.begin())];
      for (const int xid : use.xids) ++counts[xid];
      share->errors = errors_text(counts);
    }
  }
  return shares;
}

Html gpu_shares_table(const std::vector<GpuShare>& shares) {
  Html out;
  if (shares.empty()) return out;
  out << "<h3>GPUs</h3>";
  begin_table(out, "GPUs");
  out << "<th scope=\"col\">Step</th><th scope=\"col\">Code of</th><th scope=\"col\">GPU</th>"
         "<th scope=\"col\" class=\"num\">Leases</th>"
      << kTelemetryHeads << "<th scope=\"col\">Errors</th></tr></thead><tbody>";
  for (const GpuShare& share : shares) {
    out << "<tr><th scope=\"row\">" << share.step << "</th><td>" << share.side
        << "</td><td><span title=\"" << share.uuid << "\">" << share.name
        << "</span></td><td class=\"num\">" << share.leases << "</td>";
    add_telemetry(out, share.telemetry);
    out << "<td>" << share.errors << "</td></tr>";
  }
  return out << "</tbody></table></div>";
}

Html gpu_list_table(const std::vector<GpuStatus>& gpus) {
  Html out;
  if (gpus.empty()) return out;
  out << "<section><h2>GPUs <span class=\"dim\">" << std::ssize(gpus) << "</span></h2>";
  begin_table(out, "GPUs");
  out << "<th scope=\"col\">GPU</th><th scope=\"col\">State</th>" << kTelemetryHeads
      << "</tr></thead><tbody>";
  for (const GpuStatus& gpu : gpus) {
    out << "<tr><th scope=\"row\">" << gpu.name << "<div class=\"dim\"><code>" << gpu.uuid
        << "</code></div></th><td>" << sandbox::gpu::gpu_state_name(gpu.state);
    if (gpu.is_cordoned) out << ", cordoned";
    if (!gpu.reason.empty()) out << "<div class=\"dim\">" << gpu.reason << "</div>";
    if (!gpu.owner.empty()) out << "<div class=\"dim\">" << gpu.owner << "</div>";
    out << "</td>";
    add_telemetry(out, gpu.telemetry.value_or(GpuTelemetry{}));
    out << "</tr>";
  }
  return out << "</tbody></table></div></section>";
}

}  // namespace runner::web
