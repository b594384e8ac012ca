// Copy: file trees copied by descriptor, never following a link, with bounds on everything.
#pragma once

#include <cstdint>
#include <string>

#include "sandbox/os/fd.h"
#include "sandbox/os/units.h"

namespace sandbox::jail {

// What may be in the source and how it arrives.
enum class CopyKind : std::uint8_t {
  evidence,  // regular files and directories only; 0644/0755, new times
  tree,      // symbolic links too; 0644/0755, every time 2000-01-01 (older than any build)
  view,      // whatever a layer may hold, but nothing left out
  layer,     // an overlay's upper: symbolic and hard links, whiteouts, opaque and redirect
             // attributes; modes and times as they are; sockets and FIFOs are left out
};

struct CopyRules {
  CopyKind kind = CopyKind::evidence;
  std::uint32_t uid = 0;  // owner of every copy
  std::uint32_t gid = 0;
  os::Bytes bytes;         // at most that much content
  std::int64_t files = 0;  // at most that many entries, directories too
  int depth = 128;         // levels of directories below the top
};

// What was copied: entries that are no directories, and their content.
struct CopyCounts {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// Copies the regular file `source` (opened for reading) to a new file. exhausted: too large.
os::Result<CopyCounts> copy_file(int source, int directory, const std::string& name,
                                 const CopyRules& rules);

// Copies what is in `source` (a directory opened for reading) to a new directory. invalid: an entry
// of a kind that the rules do not have (named), exhausted: a bound of the rules. After an error
// part of the copy may be there.
os::Result<CopyCounts> copy_directory(int source, int directory, const std::string& name,
                                      const CopyRules& rules);

}  // namespace sandbox::jail
