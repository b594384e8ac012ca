// Packs: bundles of objects as they travel between repositories.
#pragma once

#include <string>
#include <vector>

#include "tasks/git.h"

namespace tasks::git {

// A pack written or indexed: `name` is its own 40-digit checksum.
struct PackFiles {
  std::string name;
  std::string pack;   // path
  std::string index;  // path
};

// Indexes the pack at `path` strictly into `directory` as pack-<name>.pack and .idx: every object
// is unpacked and hashed; at most kMaxPackObjects objects of kMaxObject bytes; no thin pack. With
// `connected`, every object that one of them names must be in the pack or there. invalid: not such
// a pack.
os::Result<PackFiles> index_pack(const std::string& path, const std::string& directory,
                                 const Repository* connected = nullptr);

// Reads every object of an indexed pack: commits, trees and blobs only; trees as parse_tree. Needs
// nothing but the pack.
os::Result<void> check_pack(const PackFiles& files, Refuser& refuser);

// What a pack is to hold: all that `commit` reaches and none of `without` does.
struct PackSpec {
  CommitId commit;
  std::vector<CommitId> without;
};

// Writes that pack, with its index, into `directory`.
os::Result<PackFiles> write_pack(const Repository& repository, const PackSpec& spec,
                                 const std::string& directory);

// The same pack as bytes; exhausted over `limit`.
os::Result<std::string> make_pack(const Repository& repository, const PackSpec& spec,
                                  std::size_t limit = kMaxPack);

}  // namespace tasks::git
