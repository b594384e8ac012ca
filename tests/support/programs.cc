#include "tests/support/programs.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tests {

std::filesystem::path program_path(std::string_view name) {
  const char* const folder = std::getenv("PROOFHOUSE_PROGRAM_DIR");
  return std::filesystem::path(folder == nullptr ? PROOFHOUSE_TEST_PROGRAM_DIR : folder) / name;
}

std::filesystem::path guest_path(std::string_view name) {
  const char* const folder = std::getenv("PROOFHOUSE_PROGRAM_DIR");
  if (folder != nullptr) return std::filesystem::path(folder) / "guests" / name;
  return std::filesystem::path(PROOFHOUSE_TEST_GUEST_DIR) / name;
}

std::filesystem::path source_dir() { return PROOFHOUSE_SOURCE_DIR; }

}  // namespace tests
