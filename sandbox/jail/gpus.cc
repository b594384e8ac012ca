// GPUs of a run: exactly what its executor granted to it, by a file that only root can write.
#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sandbox/jail/jail.h"
#include "sandbox/mount_plan.h"
#include "sandbox/os/files.h"
#include "sandbox/overlay.h"
#include "sandbox/wire.h"

namespace sandbox::jail {
namespace {

constexpr std::size_t kGrantLimit = 64U << 10U;
constexpr std::size_t kMostNodes = 256;

os::Result<GpuGrant> read_grant(int grants, const std::string& run) {
  GpuGrant grant = TRY(decode_gpu_grant(TRY(os::read_file_at(grants, run, kGrantLimit))));
  const bool is_sound =
      grant.run == run && grant.nodes.size() <= kMostNodes &&
      std::ranges::all_of(grant.nodes, [](const GpuNode& node) {
        return node.name.starts_with("nvidia") && is_normal_relative_path(node.name);
      });
  if (!is_sound) return os::fail(os::Code::corrupt, "a grant that is none");
  return grant;
}

}  // namespace

os::Result<void> Jail::prepare_gpus(const RunRequest& request, RunParts& parts) {
  const int grants = stage_.grants().grants.get();
  if (grants < 0) return os::fail(os::Code::invalid, "gpus: this jail was granted none");
  GpuGrant grant = TRY_CONTEXT(read_grant(grants, request.id), "grant of GPUs");
  parts.gpus = std::move(grant.nodes);
  const std::string place = "/m/dev";
  TRY(make_mount_point("", place, true));
  TRY(make_devices(place, spaces_.outside(request.domain, 0), parts.gpus));
  parts.devices = TRY(clone_mount(AT_FDCWD, place));
  TRY(detach_mount(place));
  parts.order.devices = parts.devices.get();
  for (std::size_t n = 0; n < bounds_.driver_files.size(); ++n) {
    const std::string& name = bounds_.driver_files[n].name;
    // World-readable files of root: an id map would change nothing but the owner's name.
    os::Fd mount = TRY_CONTEXT(clone_mount(AT_FDCWD, fmt::format("/driver/{}", n)), name);
    TRY_CONTEXT(restrict_mount(mount.get(), {.read_only = true}), name);
    parts.views.push_back({View{std::move(mount), false, false}, "/driver/" + name});
  }
  return {};
}

}  // namespace sandbox::jail
