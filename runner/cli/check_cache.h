// CheckCache: where `check` keeps its data between runs, so that the second is fast: checkouts of
// trees, finished builds of bases and what was measured on them.
#pragma once

#include <string>
#include <utility>

#include "sandbox/os/fd.h"
#include "tasks/evidence.h"

namespace runner::cli {

// Locked by one `check` at a time: two would disturb each other's benchmarks, and what a killed one
// left is swept by the next. Layout: that of a server's data directory, and bases/<key>/.
class CheckCache {
 public:
  // $XDG_CACHE_HOME (else ~/.cache) /proofhouse/check, made with mode 0711. denied: it is not ours
  // alone to write. Waits for another `check` to end; says so.
  static os::Result<CheckCache> open();

  const std::string& path() const { return path_; }

  // The kept evidence of a base, if its build is there too.
  bool has_base(const std::string& key) const;
  // Removes a build without its evidence, or the other way round: they are used together only.
  os::Result<void> forget_base(const std::string& key) const;
  // Writes it into an attempt's directory as base.json, with its reports below evidence/.
  os::Result<void> stage_base(const std::string& key, const std::string& attempt) const;
  // Keeps it, if its build was kept and it was not yet; the reports' blobs are read from the
  // attempt's evidence/.
  os::Result<void> keep_base(const std::string& key, const tasks::Evidence& base,
                             int attempt_directory) const;

  // Removes what was not used for longest, down to so many trees and bases.
  static constexpr std::size_t kTrees = 60;
  static constexpr std::size_t kBases = 12;
  os::Result<void> trim() const;

 private:
  CheckCache(std::string path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string base_path(const std::string& key) const { return path_ + "/bases/" + key; }
  std::string path_;
  os::Fd lock_;
};

}  // namespace runner::cli
