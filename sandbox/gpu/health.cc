#include "sandbox/gpu/health.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sandbox::gpu {
namespace {

constexpr std::array kTask{8, 11, 13, 31, 32, 39, 68, 69, 94, 96, 97};
constexpr std::array kIgnored{43, 44, 45, 66};
constexpr std::array kNoted{63, 92};
constexpr std::array kReset{46, 48, 62, 64, 95, 109, 110, 119, 120, 140, 143, 155, 156, 158};
constexpr std::array<std::string_view, 5> kRecovery{
    "none", "a reset", "a reboot of the machine", "draining of its peers", "draining and a reset"};

bool has(const auto& list, int xid) { return std::ranges::find(list, xid) != list.end(); }

std::string_view words_of(XidClass kind) {
  switch (kind) {
    case XidClass::reset:
      return "the GPU needs a reset";
    case XidClass::node:
      return "the GPU has fallen off the bus; the machine needs a restart";
    case XidClass::link:
      return "NVLink has failed";
    case XidClass::task:
    case XidClass::ignored:
    case XidClass::noted:
    case XidClass::recovery:
    case XidClass::unknown:
      break;
  }
  return {};
}

}  // namespace

XidClass classify_xid(int xid) {
  if (has(kTask, xid)) return XidClass::task;
  if (has(kIgnored, xid)) return XidClass::ignored;
  if (has(kNoted, xid)) return XidClass::noted;
  if (has(kReset, xid)) return XidClass::reset;
  if (xid == 79) return XidClass::node;
  if (xid == 74 || (xid >= 144 && xid <= 150)) return XidClass::link;
  return xid == 154 ? XidClass::recovery : XidClass::unknown;
}

std::string_view xid_class_name(XidClass kind) {
  constexpr std::array<std::string_view, 8> kNames{"task", "ignored", "noted",    "reset",
                                                   "node", "link",    "recovery", "unknown"};
  return kNames.at(static_cast<std::size_t>(kind));
}

HealthVerdict judge_reading(const HealthReading& reading) {
  if (reading.is_lost) return {true, "the GPU has fallen off the bus"};
  if (reading.has_remap_failed) return {true, "a row of its memory could not be remapped"};
  if (reading.is_remap_pending)
    return {true, "a row of its memory is to be remapped: it needs a reset"};
  if (reading.recovery_action > 0) {
    const auto action = static_cast<std::size_t>(reading.recovery_action);
    return {true, fmt::format("the driver asks for {}",
                              action < kRecovery.size() ? kRecovery[action] : "a recovery")};
  }
  return {};
}

HealthVerdict judge_health(const HealthReading& before, const HealthReading& after,
                           const std::vector<int>& xids) {
  for (const int xid : xids)
    if (const std::string_view words = words_of(classify_xid(xid)); !words.empty())
      return {true, fmt::format("Xid {}: {}", xid, words)};
  if (HealthVerdict now = judge_reading(after); now.quarantine) return now;
  if (after.ecc_uncorrected > before.ecc_uncorrected)
    return {true, fmt::format("{} uncorrected memory errors",
                              after.ecc_uncorrected - before.ecc_uncorrected)};
  return {};
}

}  // namespace sandbox::gpu
