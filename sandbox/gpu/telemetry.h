// Telemetry: what a GPU did during a lease, from samples. Integers only, for the evidence.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sandbox::gpu {

// Figures of one GPU at one moment; empty: the GPU does not tell.
struct Sample {
  std::chrono::milliseconds at{0};                  // any clock that only goes forward
  std::int64_t cpu_us = 0;                          // CPU time of the command so far
  std::optional<std::int64_t> utilisation_percent;  // of the last sample period: a kernel ran
  std::optional<std::int64_t> memory_percent;       // … memory was read or written
  std::optional<std::int64_t> memory_used;          // bytes
  std::optional<std::int64_t> power_mw;
  std::optional<std::int64_t> energy_mj;  // since the driver was loaded
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> temperature_c;
  std::uint64_t throttle_reasons = 0;  // bits of nvmlClocksEventReasons
};

// Sums of one lease of one GPU. 0 where the GPU does not tell.
struct GpuTelemetry {
  std::int64_t samples = 0;
  std::int64_t held_ms = 0;
  // Each moment of the lease is one of three: a kernel ran; none ran while the command used the
  // CPU (the GPU is starved: its input is not ready); neither.
  std::int64_t busy_ms = 0;
  std::int64_t starved_ms = 0;
  std::int64_t idle_ms = 0;
  std::int64_t utilisation_peak_percent = 0;
  std::int64_t memory_peak = 0;  // bytes
  std::int64_t power_mean_mw = 0;
  std::int64_t power_peak_mw = 0;
  std::int64_t energy_mj = 0;
  std::int64_t sm_clock_min_mhz = 0;
  std::int64_t sm_clock_max_mhz = 0;
  std::int64_t memory_clock_max_mhz = 0;
  std::int64_t temperature_peak_c = 0;
  std::vector<std::string> throttled;  // reasons seen, in their order
  bool operator==(const GpuTelemetry&) const = default;
};

// Adds samples of one lease up. Not thread-safe.
class TelemetrySum {
 public:
  // In the order of time; the first one starts the lease.
  void add(const Sample& sample);
  GpuTelemetry sum() const;

 private:
  std::optional<Sample> first_;
  Sample last_;
  GpuTelemetry sum_;
  std::int64_t power_total_ = 0;
  std::int64_t power_samples_ = 0;
  std::uint64_t throttle_reasons_ = 0;
};

// Names of the bits that slow a GPU down: sw_power_cap, hw_thermal …; idleness is none.
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace sandbox::gpu
