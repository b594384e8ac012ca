// Health: what the driver's error reports and counters mean for a GPU and for the task on it. Pure.
//
// What a task can provoke by itself (an illegal address, a trap, an endless kernel) is the task's
// fault: it never takes a GPU out of service and never excuses a failed check. What only hardware
// does takes the GPU out of service until a burn-in passes, and the run is done again elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::gpu {

// Kinds of critical errors (Xid). Source: NVIDIA's Xid catalogue and its recommended actions.
enum class XidClass : std::uint8_t {
  task,      // 8 11 13 31 32 39 68 69 94 96 97: the program on the GPU did it
  ignored,   // 43 44 45 66: aftermath of another one, or of a killed program
  noted,     // 63 92: a row is remapped at the next reset, many corrected errors
  reset,     // 46 48 62 64 95 109 110 119 120 140 143 155 156 158: needs a reset
  node,      // 79: fallen off the bus, the machine must be restarted
  link,      // 74 144-150: NVLink
  recovery,  // 154: the recovery action has changed; that action decides
  unknown,   // any other: noted; the counters decide
};
XidClass classify_xid(int xid);
std::string_view xid_class_name(XidClass kind);

// Error counters of one GPU at one moment.
struct HealthReading {
  bool is_lost = false;  // it does not answer: fallen off the bus
  std::int64_t ecc_corrected = 0;
  std::int64_t ecc_uncorrected = 0;  // both since the last reset
  std::int64_t remapped_rows = 0;
  bool is_remap_pending = false;  // takes effect at the next reset
  bool has_remap_failed = false;
  // The driver's own advice: 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset; -1 not
  // told.
  int recovery_action = -1;
  bool operator==(const HealthReading&) const = default;
};

// What follows from a lease's errors.
struct HealthVerdict {
  bool quarantine = false;  // the GPU leaves service
  std::string reason;       // why, empty: it stays
  bool operator==(const HealthVerdict&) const = default;
};

// Judges the time between two readings of one GPU, with the critical errors in it.
HealthVerdict judge_health(const HealthReading& before, const HealthReading& after,
                           const std::vector<int>& xids);

// Judges a reading alone: whether a GPU may be in service at all.
HealthVerdict judge_reading(const HealthReading& reading);

}  // namespace sandbox::gpu
