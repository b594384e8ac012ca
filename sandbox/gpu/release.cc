#include "sandbox/gpu/release.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sandbox/os/process.h"

namespace sandbox::gpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{50};
constexpr uid_t kNobody = 65'534;
constexpr std::size_t kToolOutput = 64U << 10U;
constexpr std::size_t kShownOutput = 300;

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(const std::string& path) { return {::opendir(path.c_str()), ::closedir}; }

// Every user of any GPU holds nvidiactl and nvidia-uvm, every user of any MIG instance its GPU's
// node: only what is left tells who uses this one.
std::vector<GpuNode> own_nodes(const Gpu& gpu) {
  std::vector<GpuNode> own;
  for (const GpuNode& node : gpu.nodes) {
    const bool is_instance = node.name.starts_with("nvidia-caps/");
    const bool is_gpu = node.name != "nvidiactl" && node.name != "nvidia-uvm" && !is_instance;
    if (gpu.device.parent.empty() ? is_gpu : is_instance) own.push_back(node);
  }
  return own;
}

bool holds(const std::string& descriptors, const std::vector<GpuNode>& nodes) {
  const Directory directory = open_directory(descriptors);
  if (directory == nullptr) return false;
  while (const dirent* entry = ::readdir(directory.get())) {
    struct stat info{};
    if (entry->d_name[0] == '.' ||
        ::fstatat(::dirfd(directory.get()), entry->d_name, &info, 0) != 0)
      continue;
    if (!S_ISCHR(info.st_mode)) continue;
    const auto is_it = [&](const GpuNode& node) {
      return ::gnu_dev_major(info.st_rdev) == node.major_number &&
             ::gnu_dev_minor(info.st_rdev) == node.minor_number;
    };
    if (std::ranges::any_of(nodes, is_it)) return true;
  }
  return false;
}

// Text of a program of ours, for a line of text.
std::string last_words(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() > kShownOutput) text.erase(0, text.size() - kShownOutput);
  for (char& character : text)
    if (character < ' ' || character > '~') character = ' ';
  return text;
}

}  // namespace

void find_tools(PoolOptions& options, const std::string& directory) {
  const auto find = [&](std::string& tool, const char* name) {
    const std::string built = directory + "/" + name;
    if (tool.empty() && ::access(built.c_str(), X_OK) == 0) tool = built;
  };
  find(options.scrub, "gpu_scrub");
  find(options.burn_in, "gpu_burn_in");
}

void allow_gaps(PoolOptions& options, const std::vector<std::string>& gaps) {
  if (std::ranges::find(gaps, kScrubGap) != gaps.end()) options.may_skip_scrub = true;
}

std::set<pid_t> node_users(const std::vector<GpuNode>& nodes) {
  std::set<pid_t> users;
  const Directory processes = open_directory("/proc");
  if (processes == nullptr) return users;
  while (const dirent* entry = ::readdir(processes.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size() || pid == ::getpid()) continue;
    if (holds(fmt::format("/proc/{}/fd", pid), nodes)) users.insert(pid);
  }
  return users;
}

os::Result<std::set<pid_t>> leftovers(const Nvml& nvml, const Gpu& gpu,
                                      const std::set<pid_t>& before) {
  std::set<pid_t> found = node_users(own_nodes(gpu));
  for (const int pid : TRY(nvml.processes(gpu.device))) found.insert(pid);
  std::erase_if(found, [&](pid_t pid) { return before.contains(pid) || pid == ::getpid(); });
  return found;
}

std::string wait_until_empty(const Nvml& nvml, const Gpu& gpu, const std::set<pid_t>& before,
                             milliseconds limit, const std::stop_token& stop) {
  const steady_clock::time_point deadline = steady_clock::now() + limit;
  while (true) {
    const os::Result<std::set<pid_t>> left = leftovers(nvml, gpu, before);
    if (left && left->empty()) return {};
    if (stop.stop_requested() || steady_clock::now() >= deadline) {
      if (!left) return left.error().message;
      return fmt::format("processes are left on it: {}", fmt::join(*left, ", "));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

std::string run_tool(const std::string& program, const std::string& uuid, milliseconds limit,
                     const std::stop_token& stop) {
  const std::string name = program.substr(program.rfind('/') + 1);
  const os::Fd output(::memfd_create("gpu-tool", MFD_CLOEXEC));
  os::SpawnRequest request;
  request.program = program;
  request.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "CUDA_VISIBLE_DEVICES=" + uuid};
  request.directory = "/";
  request.standard_output = output.get();
  request.standard_error = output.get();
  request.new_session = true;
  request.die_with_parent = true;
  request.uid = kNobody;
  request.gid = kNobody;
  os::Result<os::ChildProcess> child = os::ChildProcess::spawn(request);
  if (!child) return fmt::format("{}: {}", name, child.error().message);
  const steady_clock::time_point deadline = steady_clock::now() + limit;
  os::Result<os::ExitStatus> ended = child->wait(kPoll);
  while (!ended && !stop.stop_requested() && steady_clock::now() < deadline)
    ended = child->wait(kPoll);
  if (!ended) return fmt::format("{} did not end in {}", name, os::format_duration(limit));
  if (ended->is_success()) return {};
  ::lseek(output.get(), 0, SEEK_SET);
  return fmt::format("{} failed ({} {}): {}", name, ended->signal != 0 ? "signal" : "exit",
                     ended->signal != 0 ? ended->signal : ended->code,
                     last_words(os::read_all(output.get(), kToolOutput).value_or("")));
}

}  // namespace sandbox::gpu
