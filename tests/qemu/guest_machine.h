#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tests {

// What a script did in the guest.
struct GuestRun {
  int status = -1;     // of the script; 124 timed out, 125 the guest ended by itself
  std::string output;  // both streams of the script, then run.sh's own words
};

// Runs the text `script` by tests/qemu/run.sh, with `programs` (files, or folders with all that is
// in them) in the guest's PATH, each under its own name. Takes about 10 s; needs the capability
// qemu.
GuestRun run_in_guest(const std::vector<std::filesystem::path>& programs,
                      const std::string& script);

// The entries of a folder, for run_in_guest.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace tests
