// Nvml: NVIDIA's management library, loaded while running where a machine has it, so that our
// programs need neither its header nor the driver. Types and numbers are those of the documented
// ABI (docs.nvidia.com/deploy/nvml-api).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/gpu/health.h"
#include "sandbox/gpu/telemetry.h"
#include "sandbox/os/units.h"

struct nvmlDevice_st;

namespace sandbox::gpu {

// A device of the library; valid as long as the Nvml that gave it.
using NvmlHandle = nvmlDevice_st*;

// A whole GPU, or one MIG instance of a GPU whose MIG mode is on (then the GPU itself is not
// listed: it cannot be used as a whole).
struct NvmlDevice {
  NvmlHandle handle = nullptr;
  NvmlHandle physical = nullptr;  // the GPU that counts errors and power: itself, or the parent
  std::string uuid;               // "GPU-…" or "MIG-…"
  std::string parent;             // UUID of the parent of a MIG instance; empty: a whole GPU
  std::string name;
  int index = 0;                   // of the GPU
  int minor = -1;                  // of /dev/nvidia<minor>; -1: not told
  int mig_index = -1;              // of the instance on its GPU
  std::uint32_t gpu_instance = 0;  // MIG: id of its GPU instance
  os::Bytes memory;
};

// A critical error that the driver reported.
struct XidEvent {
  NvmlHandle physical = nullptr;
  int xid = 0;
  std::optional<std::uint32_t> gpu_instance;  // whose it was; nothing: the whole GPU's
};

// Safe to use from several threads (as the library is).
class Nvml {
 public:
  // `path` empty: libnvidia-ml.so.1 as the loader finds it. not_found: there is no such library;
  // unavailable: it does not start (no driver).
  static os::Result<std::unique_ptr<Nvml>> load(const std::string& path);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  os::Result<std::string> driver_version() const;
  // A GPU that does not answer is left out.
  os::Result<std::vector<NvmlDevice>> devices() const;
  // Error counters now. A GPU that has fallen off the bus is `lost`, not an error.
  HealthReading read_health(const NvmlDevice& device) const;
  // Figures now, without time and CPU; what the device does not tell stays empty.
  Sample read_sample(const NvmlDevice& device) const;
  // Host pids of compute, graphics and MPS processes on the device; each once.
  os::Result<std::vector<int>> processes(const NvmlDevice& device) const;

  // Begins to note critical errors of the device's GPU; one that cannot report any is no error. Not
  // while another thread waits for one.
  os::Result<void> watch(const NvmlDevice& device);
  // The next critical error, or nothing after `wait`.
  std::optional<XidEvent> next_xid(std::chrono::milliseconds wait) const;

 private:
  struct Calls;
  explicit Nvml(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
};

}  // namespace sandbox::gpu
