// Inventory: the GPUs of this machine that may be leased, with what a sandbox needs of each.
#pragma once

#include <string>
#include <vector>

#include "sandbox/gpu/cdi.h"
#include "sandbox/gpu/nvml.h"
#include "sandbox/gpu/options.h"
#include "sandbox/request.h"

namespace sandbox::gpu {

struct Gpu {
  NvmlDevice device;
  std::vector<GpuNode> nodes;  // nvidiactl, nvidia-uvm, and its own; a MIG instance's caps nodes
  std::string unusable;        // why it cannot be given to a sandbox; empty: it can
};

struct Inventory {
  std::string driver;  // version
  std::vector<Gpu> gpus;
  std::vector<DriverFile> driver_files;  // the driver's libraries, under all their names
  std::vector<std::string> left_out;     // of the CDI specifications, one line each
};

// Reads CDI and matches it with what the library lists. Where there is no CDI a whole GPU has the
// node of its minor number, and the driver's libraries are those of the host's /usr; a MIG instance
// cannot be used then. Numbers of device nodes come from the nodes themselves, never from CDI.
os::Result<Inventory> take_inventory(const Nvml& nvml, const InventoryOptions& options);

// The device number of a character device: <root>/<name>. not_found, or invalid: something else.
os::Result<GpuNode> read_node(const std::string& root, const std::string& name);

}  // namespace sandbox::gpu
