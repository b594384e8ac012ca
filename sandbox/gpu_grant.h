// GpuGrant: which devices of GPUs a run may have, as an executor tells its jail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sandbox {

// A character device of a GPU.
struct GpuNode {
  std::string name;  // below /dev: nvidiactl, nvidia0, nvidia-caps/nvidia-cap5
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;
  bool operator==(const GpuNode&) const = default;
};

// A file of the GPU driver, shown to commands with a GPU as /driver/<name>.
struct DriverFile {
  std::string path;  // on the host
  std::string name;  // plain
  bool operator==(const DriverFile&) const = default;
};

// What an executor lets one run have: the file named like the run in the directory at kGrantsFd,
// which only root can write. As JSON (sandbox/wire.h).
struct GpuGrant {
  std::string run;
  std::vector<std::string> uuids;
  std::vector<GpuNode> nodes;
  bool operator==(const GpuGrant&) const = default;
};

}  // namespace sandbox
