#include "tests/qemu/guest_machine.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/programs.h"

namespace tests {

GuestRun run_in_guest(const std::filesystem::path& programs, const std::string& script) {
  std::string folder = (std::filesystem::temp_directory_path() / "proofhouse-qemu-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return {.status = -1, .output = "mkdtemp failed"};
  std::ofstream(folder + "/script.sh") << script;

  const std::string command = (source_dir() / "tests/qemu/run.sh").string() + " '" + folder +
                              "' '" + programs.string() + "' '" + folder + "/script.sh' 2>&1";
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
