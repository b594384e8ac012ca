#include "sandbox/cgroup_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sandbox/cgroup.h"

namespace sandbox {
namespace {

// A fork bomb's list of processes is the longest of these files.
constexpr std::size_t kFileLimit = 8U << 20U;

template <class Function>
void for_each_line(std::string_view text, const Function& function) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    function(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::int64_t leading_number(std::string_view text, std::int64_t otherwise) {
  if (text.starts_with("max")) return std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // v1 writes "no limit" as an unsigned number that does not fit.
  if (error == std::errc::result_out_of_range) return std::numeric_limits<std::int64_t>::max();
  return error == std::errc{} && end != text.data() ? number : otherwise;
}

}  // namespace

os::Result<os::Fd> open_group(const std::string& path) {
  return os::open_file(path, O_RDONLY | O_DIRECTORY);
}

os::Result<std::string> read_group_file(int directory, const std::string& name) {
  const os::Fd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return os::fail_errno("open " + name);
  return TRY_CONTEXT(os::read_all(file.get(), kFileLimit), "read " + name);
}

os::Result<void> write_group_file(int directory, const std::string& name, std::string_view value) {
  const os::Fd file(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return os::fail_errno("open " + name);
  while (::write(file.get(), value.data(), value.size()) < 0)
    if (errno != EINTR) return os::fail_errno("write '" + std::string(value) + "' to " + name);
  return {};
}

bool has_group_file(int directory, const std::string& name) {
  return ::faccessat(directory, name.c_str(), F_OK, 0) == 0;
}

std::int64_t group_number(int directory, const std::string& name, std::int64_t otherwise) {
  const os::Result<std::string> text = read_group_file(directory, name);
  return text ? leading_number(*text, otherwise) : otherwise;
}

std::int64_t group_counter(int directory, const std::string& name, std::string_view key) {
  const os::Result<std::string> text = read_group_file(directory, name);
  std::int64_t number = 0;
  if (!text) return number;
  for_each_line(*text, [&](std::string_view line) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' '))
      number = leading_number(line.substr(key.size() + 1), 0);
  });
  return number;
}

std::int64_t group_cpu_us(int directory, bool is_unified) {
  return is_unified ? group_counter(directory, "cpu.stat", "usage_usec")
                    : group_number(directory, "cpuacct.usage") / 1000;
}

std::int64_t group_cpu_us(const CgroupHost& host, const std::string& path) {
  for (const CgroupHost::Hierarchy& hierarchy : host.hierarchies()) {
    if (!hierarchy.is_unified() && !hierarchy.has("cpuacct")) continue;
    const os::Result<os::Fd> group = open_group(hierarchy.directory(path));
    return group ? group_cpu_us(group->get(), hierarchy.is_unified()) : 0;
  }
  return 0;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find_first_of(" ,\n");
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
  return false;
}

std::vector<std::string> group_tree(const std::string& path) {
  std::vector<std::string> all{path};
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(all[at].c_str()), ::closedir);
    if (!stream) continue;
    while (const dirent* entry = ::readdir(stream.get()))
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
        all.push_back(all[at] + "/" + entry->d_name);
  }
  return all;
}

std::vector<pid_t> group_processes(const std::string& path) {
  std::vector<pid_t> processes;
  for (const std::string& group : group_tree(path)) {
    const os::Result<os::Fd> directory = open_group(group);
    if (!directory) continue;
    const os::Result<std::string> text = read_group_file(directory->get(), "cgroup.procs");
    if (!text) continue;
    for_each_line(*text, [&](std::string_view line) {
      const auto pid = static_cast<pid_t>(leading_number(line, 0));
      if (pid > 0 && pid != ::getpid()) processes.push_back(pid);
    });
  }
  return processes;
}

}  // namespace sandbox
