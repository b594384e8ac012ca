#include "sandbox/ablation.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "sandbox/request.h"

#ifndef PROOFHOUSE_ABLATION
#error "this file is for the tests' own jail only"
#endif

namespace sandbox {

bool is_left_out(Layer layer) {
  const char* const value = std::getenv("PROOFHOUSE_ABLATE");
  const auto* const named =
      std::ranges::find(kLayers, layer, [](const auto& entry) { return entry.first; });
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == named->second) return true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

int namespaces_left(int all) {
  int left = all;
  if (is_left_out(Layer::pid_namespace)) left &= ~CLONE_NEWPID;
  if (is_left_out(Layer::net_namespace)) left &= ~CLONE_NEWNET;
  if (is_left_out(Layer::ipc_namespace)) left &= ~CLONE_NEWIPC;
  if (is_left_out(Layer::uts_namespace)) left &= ~CLONE_NEWUTS;
  return left;
}

RunRequest limits_left(const RunRequest& request) {
  RunRequest left = request;
  if (is_left_out(Layer::disk_limit)) left.limits.disk = os::Bytes{1ULL << 30U};
  if (is_left_out(Layer::inode_limit)) left.limits.inodes = 1'000'000;
  if (is_left_out(Layer::wall_deadline)) left.limits.wall = std::chrono::hours(24);
  if (is_left_out(Layer::idle_deadline)) left.limits.idle = std::chrono::milliseconds(0);
  if (is_left_out(Layer::output_limit)) left.limits.output = os::Bytes{1ULL << 40U};
  return left;
}

}  // namespace sandbox
