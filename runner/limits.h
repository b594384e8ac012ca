// The largest files that serve and the command line read back from an attempt: one place, so that
// what one side wrote within its bound the other side reads.
#pragma once

#include <cstddef>

namespace runner {

// A policy as canonical JSON, bytes. The YAML file itself is bounded by tasks/policy_yaml.
inline constexpr std::size_t kPolicyJsonLimit = 4U << 20U;
// A policy file as a person wrote it, bytes.
inline constexpr std::size_t kPolicyFileLimit = 256U << 10U;
// One parsed report as canonical JSON, bytes.
inline constexpr std::size_t kReportJsonLimit = 16U << 20U;
// An attempt's result.json, and a base's kept part of one, bytes.
inline constexpr std::size_t kAttemptResultLimit = 256U << 20U;

}  // namespace runner
