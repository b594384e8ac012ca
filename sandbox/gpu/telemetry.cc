#include "sandbox/gpu/telemetry.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sandbox::gpu {
namespace {

// A command that uses less CPU than this share of the time waits for something else.
constexpr std::int64_t kActivePercent = 10;

// nvmlClocksEventReasons of the NVML manual, without GpuIdle (1) and the clocks that an operator
// set (2).
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 7> kReasons{
    {{0x4, "sw_power_cap"},
     {0x8, "hw_slowdown"},
     {0x10, "sync_boost"},
     {0x20, "sw_thermal"},
     {0x40, "hw_thermal"},
     {0x80, "hw_power_brake"},
     {0x100, "display_clocks"}}};

void raise(std::int64_t& peak, const std::optional<std::int64_t>& value) {
  peak = std::max(peak, value.value_or(0));
}

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kReasons)
    if ((reasons & bit) != 0) names.emplace_back(name);
  return names;
}

void TelemetrySum::add(const Sample& sample) {
  if (first_) {
    const std::int64_t passed = (sample.at - last_.at).count();
    const std::int64_t percent =
        std::clamp<std::int64_t>(sample.utilisation_percent.value_or(0), 0, 100);
    const std::int64_t busy = passed * percent / 100;
    const bool is_active =
        (sample.cpu_us - last_.cpu_us) * 100 >= passed * 1000 * kActivePercent && passed > 0;
    sum_.busy_ms += busy;
    (is_active ? sum_.starved_ms : sum_.idle_ms) += passed - busy;
  } else {
    first_ = sample;
  }
  ++sum_.samples;
  raise(sum_.utilisation_peak_percent, sample.utilisation_percent);
  raise(sum_.memory_peak, sample.memory_used);
  raise(sum_.power_peak_mw, sample.power_mw);
  raise(sum_.sm_clock_max_mhz, sample.sm_clock_mhz);
  raise(sum_.memory_clock_max_mhz, sample.memory_clock_mhz);
  raise(sum_.temperature_peak_c, sample.temperature_c);
  if (sample.sm_clock_mhz)
    sum_.sm_clock_min_mhz = sum_.sm_clock_min_mhz == 0
                                ? *sample.sm_clock_mhz
                                : std::min(sum_.sm_clock_min_mhz, *sample.sm_clock_mhz);
  if (sample.power_mw) {
    power_total_ += *sample.power_mw;
    ++power_samples_;
  }
  throttle_reasons_ |= sample.throttle_reasons;
  last_ = sample;
}

GpuTelemetry TelemetrySum::sum() const {
  GpuTelemetry sum = sum_;
  if (!first_) return sum;
  sum.held_ms = (last_.at - first_->at).count();
  if (first_->energy_mj && last_.energy_mj)
    sum.energy_mj = std::max<std::int64_t>(*last_.energy_mj - *first_->energy_mj, 0);
  if (power_samples_ > 0) sum.power_mean_mw = power_total_ / power_samples_;
  sum.throttled = throttle_names(throttle_reasons_);
  return sum;
}

}  // namespace sandbox::gpu
