#include "sandbox/environment.h"

namespace sandbox {

std::map<std::string, std::string> default_environment(const Limits& limits) {
  const std::string cpus = std::to_string(limits.cpus);
  std::map<std::string, std::string> values{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                            {"HOME", "/home/build"},
                                            {"TMPDIR", "/tmp"},
                                            {"LANG", "C.UTF-8"},
                                            {"TZ", "UTC"},
                                            {"PYTHONHASHSEED", "0"},
                                            {"SOURCE_DATE_EPOCH", "315532800"},
                                            {"MAKEFLAGS", "-j" + cpus}};
  for (const char* name :
       {"CMAKE_BUILD_PARALLEL_LEVEL", "GOMAXPROCS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"})
    values[name] = cpus;
  return values;
}

}  // namespace sandbox
