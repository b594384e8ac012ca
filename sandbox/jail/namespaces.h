// Namespaces: user namespaces that exist only as descriptors, made by short-lived holder processes.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/request.h"

namespace sandbox::jail {

// One line of a uid_map: ids inside .. -> ids of the host (man 7 user_namespaces).
struct IdMapping {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;
};

// A new user namespace with these maps and setgroups denied. The holder process is gone when this
// returns; the namespace lives as long as the descriptor (or a process or mount in it).
os::Result<os::Fd> make_user_namespace(const IdMapping& uids, const IdMapping& gids);

// The user namespaces of one jail, made when they are first needed.
class UserNamespaces {
 public:
  // `ranges`: one for each Domain, in its order.
  explicit UserNamespaces(std::vector<IdRange> ranges) : ranges_(std::move(ranges)) {}

  // The one that commands of the domain run in: 0..count-1 -> its range. Borrowed.
  os::Result<int> sandbox(Domain domain);
  // For id-mapped mounts: files that lie on disk as uid:gid belong to the command's user. Borrowed.
  os::Result<int> workspace(Domain domain, std::uint32_t uid, std::uint32_t gid);
  // The host id that `inner` of the domain is.
  std::uint32_t outside(Domain domain, std::uint32_t inner) const;

 private:
  std::vector<IdRange> ranges_;
  std::map<Domain, os::Fd> sandboxes_;
  std::map<std::tuple<Domain, std::uint32_t, std::uint32_t>, os::Fd> workspaces_;
};

}  // namespace sandbox::jail
