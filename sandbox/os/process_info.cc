#include "sandbox/os/process_info.h"

#include <unistd.h>

#include <cstdlib>

#include "sandbox/os/files.h"

namespace os {

Result<std::uint64_t> process_start_time(pid_t pid) {
  const std::string stat =
      TRY(read_file("/proc/" + std::to_string(pid) + "/stat", std::size_t{1} << 16U));
  // The name (field 2) may hold blanks and parentheses: fields are counted after the last ')'.
  std::size_t at = stat.find_last_of(')');
  for (int field = 3; at != std::string::npos && field <= 22; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return fail(Code::corrupt, "unreadable /proc stat line");
  return std::strtoull(stat.c_str() + at, nullptr, 10);
}

Result<std::string> program_directory() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return fail_errno("readlink /proc/self/exe");
  path.resize(static_cast<std::size_t>(length));
  return path.substr(0, path.find_last_of('/'));
}

}  // namespace os
