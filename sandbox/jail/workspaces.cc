#include "sandbox/jail/workspaces.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/overlay.h"

namespace sandbox::jail {
namespace {

// Inodes of our own in a workspace's tmpfs: its root, upper, work, and overlayfs' own.
constexpr std::int64_t kOwnInodes = 16;

os::Result<void> make_owned(const std::string& path, std::uint32_t owner) {
  if (::mkdir(path.c_str(), 0755) != 0) return os::fail_errno("make directory " + path);
  if (::chown(path.c_str(), owner, owner) != 0) return os::fail_errno("set owner of " + path);
  return {};
}

// Fails when something still holds the file system: then no other overlay may use its upper.
os::Result<void> unmount(const std::string& target) {
  if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) != 0) return os::fail_errno("unmount " + target);
  return {};
}

// A sized tmpfs with an upper and a work directory.
os::Result<void> make_upper(const std::string& place, os::Bytes disk, std::int64_t inodes,
                            std::uint32_t owner) {
  TRY(mount_tmpfs(place, {.size = disk, .inodes = inodes + kOwnInodes}));
  TRY(make_owned(place + "/up", owner));
  return make_owned(place + "/work", 0);
}

}  // namespace

os::Result<void> Workspace::add_lower(int source, const char* name, Views& views) {
  const View view = TRY_CONTEXT(views.show(source, domain_), name);
  if (!view.is_directory) return os::fail(os::Code::invalid, std::string(name) + ": no directory");
  const std::string place = fmt::format("{}/{}", base_, name);
  TRY(make_mount_point("", place, true));
  TRY(attach_mount(view.mount.get(), place));
  lower_.push_back(place);
  is_copy_ = is_copy_ || view.is_copy;
  return {};
}

os::Result<Workspace> Workspace::open(const WorkspaceRequest& request, const Grants& grants,
                                      Views& views, const UserNamespaces& spaces) {
  Workspace workspace;
  workspace.base_ = "/w/" + request.name;
  workspace.domain_ = request.domain;
  workspace.user_ = spaces.outside(request.domain, kInnerUid);
  const os::Result<void> mounted = workspace.mount(request, grants, views);
  if (mounted) return workspace;
  // The name may be used again: nothing of this try may lie below the next.
  for (const char* name : {"/merged", "/fs", "/tree", "/directory", "/layer"})
    static_cast<void>(detach_mount(workspace.base_ + name).has_value());
  return std::unexpected(mounted.error());
}

os::Result<void> Workspace::mount(const WorkspaceRequest& request, const Grants& grants,
                                  Views& views) {
  for (const char* name : {"/fs", "/merged", "/own", "/view", "/empty"})
    TRY(make_mount_point("", base_ + name, true));
  if (!request.layer.empty()) {
    const os::Fd layer = TRY_CONTEXT(
        os::open_beneath(grants.layers.get(), request.layer, O_PATH | O_DIRECTORY), "layer");
    TRY(add_lower(layer.get(), "layer", views));
  }
  if (request.directory) TRY(add_lower(grants.directory.get(), "directory", views));
  if (!request.tree.empty()) {
    const os::Fd tree = TRY_CONTEXT(
        os::open_beneath(grants.trees.get(), request.tree, O_PATH | O_DIRECTORY), "tree");
    TRY(add_lower(tree.get(), "tree", views));
  }
  if (lower_.empty()) lower_.push_back(base_ + "/empty");
  TRY(make_upper(base_ + "/fs", request.disk, request.inodes, user_));
  TRY(shared());
  return {};
}

os::Result<std::string> Workspace::shared() {
  os::check(!has_scratch_, "a workspace has one overlay at a time");
  writable_ = base_ + "/fs";
  std::string target = base_ + "/merged";
  if (has_shared_) return target;
  TRY(mount_overlay(target, {lower_, base_ + "/fs/up", base_ + "/fs/work"}));
  has_shared_ = true;
  return target;
}

os::Result<std::string> Workspace::scratch(os::Bytes disk, std::int64_t inodes) {
  os::check(!has_scratch_, "a workspace has one overlay at a time");
  if (has_shared_) TRY(unmount(base_ + "/merged"));
  has_shared_ = false;
  TRY(make_upper(base_ + "/own", disk, inodes, user_));
  has_scratch_ = true;
  writable_ = base_ + "/own";
  std::vector<std::string> lower = lower_;
  lower.insert(lower.begin(), upper());
  std::string target = base_ + "/view";
  TRY(mount_overlay(target, {lower, base_ + "/own/up", base_ + "/own/work"}));
  return target;
}

os::Result<void> Workspace::end_scratch() {
  if (!has_scratch_) return {};
  has_scratch_ = false;
  writable_ = base_ + "/fs";
  // Not mounted when the overlay itself was refused.
  static_cast<void>(detach_mount(base_ + "/view").has_value());
  return detach_mount(base_ + "/own");
}

}  // namespace sandbox::jail
