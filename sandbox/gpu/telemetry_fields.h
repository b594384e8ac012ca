// The fields of GpuTelemetry by name: how JSON calls them, in messages and in evidence alike.
#pragma once

#include "sandbox/gpu/telemetry.h"

namespace sandbox::gpu {

// Calls `visit` with the name and a reference of each field.
template <class Telemetry, class Visit>
void visit_telemetry(Telemetry& sum, Visit visit) {
  visit("samples", sum.samples);
  visit("held_ms", sum.held_ms);
  visit("busy_ms", sum.busy_ms);
  visit("starved_ms", sum.starved_ms);
  visit("idle_ms", sum.idle_ms);
  visit("utilisation_peak_percent", sum.utilisation_peak_percent);
  visit("memory_peak", sum.memory_peak);
  visit("power_mean_mw", sum.power_mean_mw);
  visit("power_peak_mw", sum.power_peak_mw);
  visit("energy_mj", sum.energy_mj);
  visit("sm_clock_min_mhz", sum.sm_clock_min_mhz);
  visit("sm_clock_max_mhz", sum.sm_clock_max_mhz);
  visit("memory_clock_max_mhz", sum.memory_clock_max_mhz);
  visit("temperature_peak_c", sum.temperature_peak_c);
  visit("throttled", sum.throttled);
}

}  // namespace sandbox::gpu
