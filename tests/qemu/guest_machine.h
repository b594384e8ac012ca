#pragma once

#include <filesystem>
#include <string>

namespace tests {

// What a script did in the guest.
struct GuestRun {
  int status = -1;     // of the script; 124 timed out, 125 the guest ended by itself
  std::string output;  // both streams of the script, then run.sh's own words
};

// Runs the text `script` by tests/qemu/run.sh, with the contents of `programs` in the guest's
// PATH. Takes about 10 s; needs the capability qemu.
GuestRun run_in_guest(const std::filesystem::path& programs, const std::string& script);

}  // namespace tests
