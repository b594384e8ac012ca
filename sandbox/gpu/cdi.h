// CDI: specifications of the Container Device Interface (YAML or JSON), taken as data. They say
// which device nodes belong to which GPU and which files the driver's libraries are; nothing else
// in them has an effect: hooks are never run, environment variables never set, permissions are
// always rw, and nodes and files outside of a fixed list are left out.
// Source: github.com/cncf-tags/container-device-interface, SPEC.md 1.1.0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"

namespace sandbox::gpu {

// What a device, or every device of the specification, brings with it.
struct CdiEdits {
  // Names below /dev: nvidiactl, nvidia-uvm, nvidia<n>, nvidia-caps/nvidia-cap<n>.
  std::vector<std::string> nodes;
  std::vector<std::string> libraries;  // host paths of libcuda, libnvidia-*
  // What was in the specification and has no effect, one line each.
  std::vector<std::string> left_out;
  bool operator==(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name;  // an index ("0", "0:1" for a MIG instance) or a UUID
  CdiEdits edits;
  bool operator==(const CdiDevice&) const = default;
};

struct CdiSpec {
  std::string kind;  // "nvidia.com/gpu"
  std::vector<CdiDevice> devices;
  CdiEdits common;
  bool operator==(const CdiSpec&) const = default;
};

// Reads one specification. invalid: not of the format, an unknown key, a version before 0.3 or
// after 1.x, more than 4 MiB.
os::Result<CdiSpec> parse_cdi(std::string_view text);

// Reads the specifications of kind nvidia.com/gpu and nvidia.com/mig at `paths`: files, or
// directories whose *.yaml, *.yml and *.json are read in the order of their names. A path that is
// not there is none. denied: a file that others than root may write.
os::Result<std::vector<CdiSpec>> read_cdi(const std::vector<std::string>& paths);

// The name below /dev of a node that a sandbox may have; empty: none that it may have.
std::string allowed_node(std::string_view path);

// True for a file name of the driver's libraries: libcuda.so…, libcudadebugger.so…,
// libnvidia-….so….
bool is_driver_library(std::string_view file_name);

}  // namespace sandbox::gpu
