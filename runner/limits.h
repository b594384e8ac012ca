// Bounds that serve and the command line share: one place, so that what one side wrote within its
// bound the other side reads, and a change that one takes in the other takes in too.
#pragma once

#include <cstddef>

#include "sandbox/os/units.h"

namespace runner {

// A policy as canonical JSON, bytes. The YAML file itself is bounded by tasks/policy_yaml.
inline constexpr std::size_t kPolicyJsonLimit = 4U << 20U;
// A policy file as a person wrote it, bytes.
inline constexpr std::size_t kPolicyFileLimit = 256U << 10U;
// One parsed report as canonical JSON, bytes.
inline constexpr std::size_t kReportJsonLimit = 16U << 20U;
// An attempt's result.json, and a base's kept part of one, bytes.
inline constexpr std::size_t kAttemptResultLimit = 256U << 20U;
// Memory of an attempt that takes a change in.
inline constexpr os::Bytes kIngestMemory{2ULL << 30U};

}  // namespace runner
