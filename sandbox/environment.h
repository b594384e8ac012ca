// The environment that a command finds unless it asks for another.
#pragma once

#include <map>
#include <string>

#include "sandbox/limits.h"

namespace sandbox {

// PATH, HOME, TMPDIR of a sandbox; the same TZ, LANG, PYTHONHASHSEED and SOURCE_DATE_EPOCH
// (1980-01-01, the earliest time that a zip archive can hold) for every run; as many threads and
// jobs as `limits` has CPUs for make, CMake, OpenMP, OpenBLAS, MKL, numexpr, Go and Rayon, which
// would else count the host's.
std::map<std::string, std::string> default_environment(const Limits& limits);

}  // namespace sandbox
