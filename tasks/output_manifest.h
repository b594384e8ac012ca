// The digest of a step's output.
#pragma once

#include <string>

#include "sandbox/os/result.h"

namespace tasks {

// Of a plain file beneath `directory`: its SHA-256. Of a directory: the SHA-256 of the lines
// "<sha256> <size> <path>\n" of its files, sorted by path. Anything else beneath it: invalid.
os::Result<std::string> output_digest(int directory, const std::string& path);

}  // namespace tasks
