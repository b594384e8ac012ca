#pragma once

#include <filesystem>
#include <string_view>

// Where tests find what the build made.
namespace tests {

// The absolute path of one of our programs (proofhouse, jail, attempt, ...). They lie in this
// build tree's bin/ or, for a sanitized tree, in that of a plain one. PROOFHOUSE_PROGRAM_DIR in
// the environment overrides it. The file may be missing: starting it says so.
std::filesystem::path program_path(std::string_view name);

// The absolute path of a program of tests/guests, in this build tree's bin/guests/ or in guests/
// below PROOFHOUSE_PROGRAM_DIR of the environment.
std::filesystem::path guest_path(std::string_view name);

// The root of the source tree, for the sample projects and test data in it.
std::filesystem::path source_dir();

}  // namespace tests
