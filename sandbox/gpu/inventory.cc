#include "sandbox/gpu/inventory.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "sandbox/os/files.h"

namespace sandbox::gpu {
namespace {

// Names under which CDI lists a device: by UUID, or by index as nvidia-ctk does by default (with
// and without the kind before it).
std::vector<std::string> cdi_names(const NvmlDevice& device) {
  if (device.parent.empty())
    return {device.uuid, std::to_string(device.index), fmt::format("gpu{}", device.index)};
  const std::string place = fmt::format("{}:{}", device.index, device.mig_index);
  return {device.uuid, place, "mig" + place};
}

const CdiDevice* find_device(const std::vector<CdiSpec>& specs, const NvmlDevice& device) {
  for (const std::string& name : cdi_names(device))
    for (const CdiSpec& spec : specs) {
      const auto found = std::ranges::find(spec.devices, name, &CdiDevice::name);
      if (found != spec.devices.end()) return &*found;
    }
  return nullptr;
}

// Names below /dev of what the device needs; empty with the reason where nobody says.
std::vector<std::string> node_names(const std::vector<CdiSpec>& specs, const NvmlDevice& device,
                                    std::string& unusable) {
  const std::string own = fmt::format("nvidia{}", device.minor);
  std::vector<std::string> names{"nvidiactl", "nvidia-uvm"};
  const CdiDevice* const found = find_device(specs, device);
  if (found == nullptr && !device.parent.empty()) {
    unusable = "no CDI specification names the nodes of this MIG instance";
    return {};
  }
  if (found == nullptr) {
    names.push_back(own);
    return names;
  }
  const std::vector<std::string>& nodes = found->edits.nodes;
  // A specification of before the last change of the machine's GPUs would give somebody else's.
  if (std::ranges::find(nodes, own) == nodes.end()) {
    unusable = fmt::format("its CDI device '{}' lacks /dev/{}: write the specification anew",
                           found->name, own);
    return {};
  }
  for (const std::string& name : nodes) {
    const bool is_other_gpu = name.starts_with("nvidia") && name != own &&
                              name.find_first_not_of("0123456789", 6) == std::string::npos;
    if (!is_other_gpu && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// The file under its own name and under those of the links beside it that lead to it: a program
// asks for libcuda.so.1, the file is libcuda.so.560.35.
void add_library(const std::string& path, std::vector<DriverFile>& files,
                 std::set<std::string>& names) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = path.substr(0, slash);
  const std::string own = path.substr(slash + 1);
  if (::access(path.c_str(), R_OK) != 0) return;
  if (names.insert(own).second) files.push_back({path, own});
  const std::string stem = own.substr(0, own.find(".so") + 3);
  const os::Result<std::vector<std::string>> others = os::list_directory(directory, 20'000);
  if (!others) return;
  for (const std::string& other : *others) {
    std::array<char, 256> target{};
    if (!other.starts_with(stem) || other == own) continue;
    const ssize_t length =
        ::readlink(fmt::format("{}/{}", directory, other).c_str(), target.data(), target.size());
    if (length <= 0) continue;
    const std::string_view leads(target.data(), static_cast<std::size_t>(length));
    if (leads == own && names.insert(other).second) files.push_back({path, other});
  }
}

void take_edits(const CdiEdits& edits, Inventory& inventory, std::set<std::string>& names) {
  for (const std::string& library : edits.libraries)
    add_library(library, inventory.driver_files, names);
  for (const std::string& line : edits.left_out)
    if (std::ranges::find(inventory.left_out, line) == inventory.left_out.end())
      inventory.left_out.push_back(line);
}

}  // namespace

os::Result<GpuNode> read_node(const std::string& root, const std::string& name) {
  const std::string path = fmt::format("{}/{}", root, name);
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return os::fail_errno(path);
  if (!S_ISCHR(info.st_mode)) return os::fail(os::Code::invalid, path + " is no character device");
  return GpuNode{name, ::gnu_dev_major(info.st_rdev), ::gnu_dev_minor(info.st_rdev)};
}

os::Result<Inventory> take_inventory(const Nvml& nvml, const InventoryOptions& options) {
  Inventory inventory;
  inventory.driver = nvml.driver_version().value_or(std::string());
  const std::vector<CdiSpec> specs = TRY(read_cdi(options.cdi));
  std::set<std::string> names;
  for (const CdiSpec& spec : specs) {
    take_edits(spec.common, inventory, names);
    for (const CdiDevice& device : spec.devices) take_edits(device.edits, inventory, names);
  }
  for (NvmlDevice& device : TRY(nvml.devices())) {
    if (!options.allow.empty() &&
        std::ranges::find(options.allow, device.uuid) == options.allow.end())
      continue;
    Gpu gpu;
    for (const std::string& name : node_names(specs, device, gpu.unusable)) {
      os::Result<GpuNode> node = read_node(options.devices, name);
      if (node)
        gpu.nodes.push_back(std::move(*node));
      else
        gpu.unusable = node.error().message;
    }
    gpu.device = std::move(device);
    inventory.gpus.push_back(std::move(gpu));
  }
  return inventory;
}

}  // namespace sandbox::gpu
