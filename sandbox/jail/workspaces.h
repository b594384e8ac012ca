// Workspaces: writable trees that the commands of a jail share. Sole owner of each upper layer.
#pragma once

#include <string>
#include <vector>

#include "sandbox/jail/stage.h"
#include "sandbox/jail/views.h"

namespace sandbox::jail {

// One workspace below /w/<name>: a sized tmpfs with the upper layer, views of the lower ones, and
// at most one overlay over them at any time (two overlays on one upper would corrupt each other,
// and the kernel does not refuse it).
class Workspace {
 public:
  static os::Result<Workspace> open(const WorkspaceRequest& request, const Grants& grants,
                                    Views& views, const UserNamespaces& spaces);

  Domain domain() const { return domain_; }
  bool is_copy() const { return is_copy_; }
  // Path of the mounted overlay; writes stay.
  os::Result<std::string> shared();
  // Path of an overlay with an empty upper of its own over this workspace, for one command. The
  // shared one is unmounted until the next `shared`.
  os::Result<std::string> scratch(os::Bytes disk, std::int64_t inodes);
  os::Result<void> end_scratch();
  // Path of the tmpfs that is written to now: its statfs tells what is left.
  const std::string& file_system() const { return writable_; }
  // Path of the upper layer.
  std::string upper() const { return base_ + "/fs/up"; }

 private:
  Workspace() = default;
  os::Result<void> mount(const WorkspaceRequest& request, const Grants& grants, Views& views);
  os::Result<void> add_lower(int source, const char* name, Views& views);

  std::string base_;
  Domain domain_ = Domain::change;
  std::uint32_t user_ = 0;  // host id of the command's user
  std::vector<std::string> lower_;
  std::string writable_;
  bool is_copy_ = false;
  bool has_shared_ = false;
  bool has_scratch_ = false;
};

}  // namespace sandbox::jail
