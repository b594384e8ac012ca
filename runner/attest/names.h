// Names that our statements use, for who writes and who verifies them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

inline constexpr std::string_view kStatement = "https://in-toto.io/Statement/v1";
inline constexpr std::string_view kProvenance = "https://slsa.dev/provenance/v1";
inline constexpr std::string_view kTestResult = "https://in-toto.io/attestation/test-result/v0.1";
inline constexpr std::string_view kVerificationSummary = "https://slsa.dev/verification_summary/v1";
inline constexpr std::string_view kBuildType = "https://proofhouse.invalid/build/change/v1";

// Where notes of promoted commits are kept in a repository.
inline constexpr std::string_view kNotesRef = "refs/notes/proofhouse";

// One builder for each level of the sandbox ("full", "reduced").
inline std::string builder_id(std::string_view level) {
  return "https://proofhouse.invalid/builders/" + std::string(level);
}

// What a promotion was, as far as its levels depend on it.
struct Achieved {
  std::string level;      // of the sandbox
  std::string assurance;  // of the verdict; empty: none
  bool is_overridden = false;
};

// verifiedLevels of a verification summary. SLSA's build level 2 (signed provenance of a hosted
// service) is claimed for the full sandbox only; an overridden gate takes the assurance away.
inline std::vector<std::string> verified_levels(const Achieved& achieved) {
  std::vector<std::string> levels{achieved.level == "full" ? "SLSA_BUILD_LEVEL_2"
                                                           : "SLSA_BUILD_LEVEL_1"};
  levels.push_back("PROOFHOUSE_SANDBOX_" + achieved.level);
  if (achieved.is_overridden)
    levels.emplace_back("PROOFHOUSE_OVERRIDDEN");
  else if (!achieved.assurance.empty())
    levels.push_back("PROOFHOUSE_ASSURANCE_" + achieved.assurance);
  return levels;
}

}  // namespace runner
