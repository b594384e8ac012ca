// FakeGpus: GPUs that are none: a fake NVIDIA library, device nodes, a CDI specification, and
// programs that stand for scrub and burn-in, all in one directory and changed while running.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sandbox/gpu/pool.h"
#include "sandbox/os/files.h"

namespace tests {

class FakeGpus {
 public:
  // NVIDIA's own major number: without its driver, opening a node that is allowed answers ENXIO,
  // and one that is denied EPERM.
  static constexpr unsigned kMajor = 195;

  // `count` whole GPUs of 80 GiB: uuid(0), …, nodes `major`:0, …. Needs root, for the device nodes.
  explicit FakeGpus(int count, unsigned major = kMajor);

  // A major number that no test beside this one uses: who holds a node is looked for in all of
  // /proc, by the node's numbers.
  static unsigned own_major();
  unsigned major_number() const { return major_; }

  static std::string uuid(int gpu);
  const std::string& path() const { return directory_.path(); }
  std::string library() const { return directory_ / "libnvidia-ml.so.1"; }
  std::string devices() const { return directory_ / "dev"; }
  std::string book() const { return directory_ / "book"; }
  std::string cdi() const { return directory_ / "cdi.yaml"; }
  // Programs that exit with what fail_scrub and fail_burn_in say.
  std::string scrub() const { return directory_ / "scrub"; }
  std::string burn_in() const { return directory_ / "burn_in"; }

  // Sets "<gpu>.<name>" of the library's state (see fake_nvml.cc); "" removes it.
  void set(int gpu, const std::string& name, const std::string& value);
  void set(const std::string& key, const std::string& value);
  // The driver reports a critical error.
  void raise_xid(int gpu, int xid);
  void fail_scrub(bool fails);
  void fail_burn_in(bool fails);
  // How often the program ran.
  int scrubs() const;
  int burn_ins() const;
  // Replaces the GPU by `instances` MIG instances of 10 GiB each, "MIG-<gpu>-<n>", with caps nodes
  // 2n+1 and 2n+2.
  void split(int gpu, int instances);

  sandbox::gpu::PoolOptions options() const;

 private:
  void write() const;
  void make_node(const std::string& name, unsigned major, unsigned minor) const;
  void write_cdi() const;

  os::TempDir directory_;
  std::map<std::string, std::string> state_;
  std::map<int, int> instances_;
  int count_ = 0;
  unsigned major_ = kMajor;
  int xids_ = 0;
};

}  // namespace tests
