// Options of the commands about GPUs.
#pragma once

#include <string>

#include "runner/cli/server_address.h"

namespace runner::cli {

struct GpuListCommand {
  ServerFlags server;
};

// gpu cordon, gpu uncordon
struct GpuCordonCommand {
  ServerFlags server;
  std::string uuid;
  bool is_cordoned = true;
  std::string reason;
};

}  // namespace runner::cli
