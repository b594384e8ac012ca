#include "tests/qemu/guest_machine.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace tests {

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  return {std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()};
}

GuestRun run_in_guest(const std::vector<std::filesystem::path>& programs,
                      const std::string& script) {
  std::string folder = (std::filesystem::temp_directory_path() / "proofhouse-qemu-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return {.status = -1, .output = "mkdtemp failed"};
  std::ofstream(folder + "/script.sh") << script;
  // Links are enough: run.sh copies what they point to.
  std::filesystem::create_directory(folder + "/programs");
  for (const std::filesystem::path& program : programs) {
    std::filesystem::create_symlink(
        program, std::filesystem::path(folder) / "programs" / program.filename());
  }

  const std::string command = (source_dir() / "tests/qemu/run.sh").string() + " '" + folder +
                              "' '" + folder + "/programs' '" + folder + "/script.sh' 2>&1";
  GuestRun run;
  if (std::FILE* const pipe = ::popen(command.c_str(), "re"); pipe != nullptr) {
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      run.output.append(buffer, got);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  }
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace tests
