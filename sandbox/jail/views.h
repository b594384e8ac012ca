// Views: what lies outside a sandbox as its user sees it, read-only and owned by that user.
#pragma once

#include <string>
#include <vector>

#include "sandbox/jail/namespaces.h"
#include "sandbox/os/fd.h"

namespace sandbox::jail {

// A detached mount of a file or directory in which whoever owns it on disk shows as the command's
// user. Where the file system allows no id map: a copy owned by that user, in memory.
struct View {
  os::Fd mount;
  bool is_directory = true;
  bool is_copy = false;  // the gap `idmap`
};

// Makes views for one jail.
class Views {
 public:
  // `memory` bounds a copy. The namespaces are borrowed for the object's life.
  Views(UserNamespaces& spaces, os::Bytes memory) : spaces_(spaces), memory_(memory) {}

  // `source`: a descriptor (O_PATH is enough) of a file or directory on a mount of this process.
  os::Result<View> show(int source, Domain domain);

 private:
  os::Result<View> copy(int source, Domain domain, bool is_directory);

  UserNamespaces& spaces_;
  os::Bytes memory_;
  int copies_ = 0;
};

}  // namespace sandbox::jail
