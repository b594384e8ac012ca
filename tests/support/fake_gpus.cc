#include "tests/support/fake_gpus.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "sandbox/os/fd.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kCapsMajor = 511;
constexpr unsigned kControlMinor = 255;
constexpr unsigned kUvmMinor = 250;

os::TempDir make_directory() {
  os::Result<os::TempDir> made = os::TempDir::create("fake-gpus");
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

// Whole or not at all: programs read it at any moment.
void put(const std::string& path, const std::string& text, mode_t mode) {
  const std::string aside = path + ".new";
  std::ofstream(aside) << text;
  fs::permissions(aside, static_cast<fs::perms>(mode));
  fs::rename(aside, path);
}

int lines_of(const std::string& path) {
  const std::string text = os::read_file(path).value_or("");
  return static_cast<int>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string FakeGpus::uuid(int gpu) {
  return fmt::format("GPU-00000000-0000-0000-0000-{:012}", gpu);
}

unsigned FakeGpus::own_major() {
  // Linux has 12 bits for it, and names the ones below 512.
  return 512U + static_cast<unsigned>(::getpid()) % 3584U;
}

FakeGpus::FakeGpus(int count, unsigned major)
    : directory_(make_directory()), count_(count), major_(major) {
  fs::permissions(path(), fs::perms(0755));
  fs::copy_file(PROOFHOUSE_FAKE_NVML, library());
  fs::create_directories(devices() + "/nvidia-caps");
  make_node("nvidiactl", major_, kControlMinor);
  make_node("nvidia-uvm", major_, kUvmMinor);
  put(directory_ / "libcuda.so.1.0", "a library\n", 0644);
  fs::create_symlink("libcuda.so.1.0", directory_ / "libcuda.so.1");
  state_["driver"] = "999.1";
  for (int gpu = 0; gpu < count; ++gpu) {
    make_node(fmt::format("nvidia{}", gpu), major_, static_cast<unsigned>(gpu));
    const std::map<std::string, std::string> values{{"uuid", uuid(gpu)},
                                                    {"name", "Fake GPU"},
                                                    {"minor", std::to_string(gpu)},
                                                    {"used", "0"},
                                                    {"util", "0"},
                                                    {"memory", std::to_string(80ULL << 30U)},
                                                    {"power", "100000"},
                                                    {"energy", "5000"},
                                                    {"clock", "1200"},
                                                    {"temperature", "40"},
                                                    {"throttle", "0"},
                                                    {"memory_clock", "2600"},
                                                    {"ecc_corrected", "0"},
                                                    {"ecc_uncorrected", "0"},
                                                    {"recovery", "0"}};
    for (const auto& [name, value] : values) state_[fmt::format("{}.{}", gpu, name)] = value;
  }
  for (const std::string& tool : {std::string("scrub"), std::string("burn_in")})
    put(directory_ / tool,
        fmt::format("#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES\" >> {0}/{1}.log\n"
                    "[ -e {0}/{1}.fails ] || exit 0\necho 'a cell is broken'; exit 1\n",
                    path(), tool),
        0755);
  for (const char* const log : {"/scrub.log", "/burn_in.log"}) put(path() + log, "", 0666);
  write();
  write_cdi();
}

void FakeGpus::make_node(const std::string& name, unsigned major, unsigned minor) const {
  const std::string node = devices() + "/" + name;
  if (::mknod(node.c_str(), S_IFCHR | 0666, ::makedev(major, minor)) != 0)
    throw std::runtime_error("mknod " + node);
}

void FakeGpus::write() const {
  std::string text;
  for (const auto& [key, value] : state_) text += key + " " + value + "\n";
  put(directory_ / "nvml.state", text, 0644);
}

void FakeGpus::set(const std::string& key, const std::string& value) {
  if (value.empty())
    state_.erase(key);
  else
    state_[key] = value;
  write();
}

void FakeGpus::set(int gpu, const std::string& name, const std::string& value) {
  set(fmt::format("{}.{}", gpu, name), value);
}

void FakeGpus::raise_xid(int gpu, int xid) {
  set(fmt::format("xid.{}", ++xids_), fmt::format("{} {}", gpu, xid));
}

void FakeGpus::fail_scrub(bool fails) {
  const std::string mark = directory_ / "scrub.fails";
  fails ? put(mark, "1", 0644) : static_cast<void>(fs::remove(mark));
}

void FakeGpus::fail_burn_in(bool fails) {
  const std::string mark = directory_ / "burn_in.fails";
  fails ? put(mark, "1", 0644) : static_cast<void>(fs::remove(mark));
}

int FakeGpus::scrubs() const { return lines_of(directory_ / "scrub.log"); }
int FakeGpus::burn_ins() const { return lines_of(directory_ / "burn_in.log"); }

void FakeGpus::split(int gpu, int instances) {
  instances_[gpu] = instances;
  state_[fmt::format("{}.mig", gpu)] = "1";
  for (int n = 0; n < instances; ++n) {
    const std::string prefix = fmt::format("{}.mig.{}.", gpu, n);
    state_[prefix + "uuid"] = fmt::format("MIG-{}-{}", gpu, n);
    state_[prefix + "memory"] = std::to_string(10ULL << 30U);
    state_[prefix + "instance"] = std::to_string(n + 1);
    for (const int cap : {2 * n + 1, 2 * n + 2}) {
      const std::string name = fmt::format("nvidia-caps/nvidia-cap{}", cap);
      if (!fs::exists(devices() + "/" + name))
        make_node(name, kCapsMajor, static_cast<unsigned>(cap));
    }
  }
  write();
  write_cdi();
}

void FakeGpus::write_cdi() const {
  std::string text = "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ndevices:\n";
  const auto add = [&](const std::string& name, const std::vector<std::string>& nodes) {
    text += fmt::format("- name: \"{}\"\n  containerEdits:\n    deviceNodes:\n", name);
    for (const std::string& node : nodes) text += fmt::format("    - path: /dev/{}\n", node);
  };
  for (int gpu = 0; gpu < count_; ++gpu) {
    const auto split = instances_.find(gpu);
    const std::string own = fmt::format("nvidia{}", gpu);
    if (split == instances_.end()) add(std::to_string(gpu), {own});
    for (int n = 0; split != instances_.end() && n < split->second; ++n)
      add(fmt::format("{}:{}", gpu, n), {own, fmt::format("nvidia-caps/nvidia-cap{}", 2 * n + 1),
                                         fmt::format("nvidia-caps/nvidia-cap{}", 2 * n + 2)});
  }
  text += fmt::format(
      "containerEdits:\n  env: [NVIDIA_VISIBLE_DEVICES=void]\n  deviceNodes:\n"
      "  - path: /dev/nvidiactl\n    permissions: rwm\n  - path: /dev/nvidia-uvm\n"
      "  - path: /dev/nvidia-uvm-tools\n  - path: /dev/nvidia-modeset\n"
      "  mounts:\n  - hostPath: {0}/libcuda.so.1.0\n    containerPath: /usr/lib/libcuda.so.1.0\n"
      "    options: [ro]\n  - hostPath: /etc/shadow\n    containerPath: /etc/shadow\n"
      "  hooks:\n  - hookName: createContainer\n    path: {0}/hook\n    args: [hook]\n",
      path());
  put(cdi(), text, 0644);
}

sandbox::gpu::PoolOptions FakeGpus::options() const {
  sandbox::gpu::PoolOptions options;
  options.inventory.nvml = library();
  options.inventory.cdi = {cdi()};
  options.inventory.devices = devices();
  options.book = book();
  options.scrub = scrub();
  options.burn_in = burn_in();
  options.leftover_limit = std::chrono::milliseconds(300);
  options.burn_in_pause = std::chrono::milliseconds(20);
  options.sample = std::chrono::milliseconds(10);
  return options;
}

}  // namespace tests
