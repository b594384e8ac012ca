// Under which conditions a benchmark's process runs, and what the machine did meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tasks/evidence.h"

namespace tasks {

// Sets in `environment` what a run of `key` gets besides the step's own variables:
// - a run of a pair or of a calibration: PROOFHOUSE_PAD, of random length below 4096, so that the
//   stack lies elsewhere in each process (its layout alone can move a benchmark by percents), and
//   BENCHMARK_FILTER with the names of `only` (Google Benchmark takes the default of its flags from
//   the environment; a filter on the command line wins, and other programs ignore it);
// - a relinked run: compiler flags in CFLAGS, CXXFLAGS, FFLAGS and RUSTFLAGS that align functions
//   to 64 bytes, and PROOFHOUSE_RELINK=1 for builds that would rather permute their link order.
void set_conditions(const RunKey& key, const std::vector<std::string>& only,
                    std::map<std::string, std::string>& environment);

// "^(BM_Dot/1024|BM_Sum)(/threads:[0-9]+)?$" as an extended regular expression; empty (measure all)
// without names, or where it would be longer than 64 KiB.
std::string benchmark_filter(const std::vector<std::string>& only);

// Counters of the machine from its construction on. Reads /proc and /sys only.
class MachineWatch {
 public:
  // `cpus`: those of the lease; empty: all.
  explicit MachineWatch(const std::vector<int>& cpus);
  // See RunRecord::disturbances. What cannot be read is left out.
  std::map<std::string, std::int64_t> disturbances() const;

 private:
  std::map<std::string, std::int64_t> counters() const;
  std::vector<int> cpus_;
  std::map<std::string, std::int64_t> before_;
};

}  // namespace tasks
