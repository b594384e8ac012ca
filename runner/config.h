// Config: the operator's one file, YAML. Every field has a default; an empty file is a whole one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/gpu/options.h"
#include "sandbox/os/result.h"
#include "sandbox/os/units.h"

namespace runner {

// How long things are kept. Durations as "90s", "10m", "2h".
struct Retention {
  // retention.attempts: directories of attempts that were lost or ended by a fault, for diagnosis
  // (those whose evidence was taken go at once). 1m..8760h.
  std::chrono::milliseconds attempts{std::chrono::hours(24 * 7)};
  // retention.evidence: of tasks that are done and did not land; what landed is kept. 1h..87600h.
  std::chrono::milliseconds evidence{std::chrono::hours(24 * 90)};
  // retention.events: of tasks that are done. 1h..87600h.
  std::chrono::milliseconds events{std::chrono::hours(24 * 30)};
  // retention.approvals: a task that waits longer for a decision is ended. 1m..8760h.
  std::chrono::milliseconds approvals{std::chrono::hours(24 * 14)};
  // retention.packs: stored packs that no task used. 1m..8760h.
  std::chrono::milliseconds packs{std::chrono::hours(1)};
  // retention.bases: kept evidence and builds of bases that no task used. 1m..8760h.
  std::chrono::milliseconds bases{std::chrono::hours(24 * 30)};
  // retention.trees: checkouts that no task needs any more. 1m..8760h.
  std::chrono::milliseconds trees{std::chrono::hours(24)};
  bool operator==(const Retention&) const = default;
};

// Bounds of what is taken in.
struct Caps {
  int queue = 1000;            // caps.queue: tasks that wait; one more is answered 503. 1..100,000
  int ingests = 4;             // caps.ingests: changes taken in at a time. 1..64
  os::Bytes patch{8U << 20U};  // caps.patch: a posted patch. 1KiB..8MiB (the body of a request)
  os::Bytes pack{64U << 20U};  // caps.pack: a stored pack. 1KiB..1GiB
  bool operator==(const Caps&) const = default;
};

struct Config {
  // listen: address and port that HTTP is served on. IPv4, [IPv6] or a host name, then ":port".
  std::string listen = "127.0.0.1:8470";
  // url: address that people and agents reach us by where that is not `listen` (behind nginx):
  // http:// or https://, host, optional port. Its host is accepted in requests; https makes the
  // cookies of the pages Secure. Empty: `listen` alone.
  std::string url;
  // data: directory of everything that is kept; absolute.
  std::string data = "/var/lib/proofhouse";
  // user: serve, started as root, becomes this user once its executor is started; name or number,
  // never root. Empty: the account `proofhouse`. An ordinary user's serve stays that user.
  std::string user;
  // instance: 8 hexadecimal digits that name this server's cgroups and records on the machine.
  // Empty: the first 8 of the SHA-256 of `data` (see instance_of).
  std::string instance;
  // executor: unix socket of a running executor. Empty: serve starts one of its own.
  std::string executor_socket;
  // ids.first, ids.slots: the sub-uids of sandboxes: `slots` ranges of 65,536 from `first` up.
  std::uint32_t first_id = 939'524'096;  // 65,536..4,000,000,000
  int id_slots = 128;                    // 4..1024; an attempt takes four
  // machine.cpus, machine.memory: how much may be leased. 0 (or left out): all CPUs of the affinity
  // mask, 80 % of the memory.
  int max_cpus = 0;         // 0..4096
  os::Bytes max_memory{0};  // 256MiB and more
  // gpus: which GPUs are leased to steps, and where they are found.
  //   gpus.allow: UUIDs of GPUs and MIG instances; left out: all of the machine
  //   gpus.nvml: NVIDIA's management library; left out: libnvidia-ml.so.1 of the loader
  //   gpus.cdi: CDI specifications, files or directories; [/etc/cdi, /var/run/cdi]
  //   gpus.devices: where the device nodes lie; /dev
  //   gpus.book: directory of the machine's book of leases; /var/lib/proofhouse-gpus
  //   gpus.scrub, gpus.burn_in: programs; gpu_scrub and gpu_burn_in beside ours where built
  sandbox::gpu::PoolOptions gpus;
  Caps caps;
  Retention retention;
  // disk.high_water: share of the data's file system in use at which new tasks are refused, in
  // millionths ("90%"). 10%..100%.
  std::int64_t disk_high_water_millionths = 900'000;
  // sandbox.allow_gaps: protections that may be missing, by name; every verdict then says so.
  std::vector<std::string> allow_gaps;
  // sandbox.read_only_paths: further host paths shown read-only in every sandbox; absolute.
  std::vector<std::string> read_only_paths;
  // git.schemes: of the addresses of remote repositories: https, ssh, http, git. What goes over
  // http and git is read, and may be altered, by everybody on the way.
  std::vector<std::string> git_schemes{"https", "ssh"};
  // environments: names that a policy may use. Only `host` is supported yet.
  std::vector<std::string> environments{"host"};
  bool operator==(const Config&) const = default;
};

// Reads a configuration strictly: unknown and duplicate keys, wrong units and values out of range
// answer invalid, one problem a line: "<file>:<line>:<column>: <what is wrong, what is allowed>".
os::Result<Config> read_config(std::string_view yaml, std::string_view file);
os::Result<Config> load_config(const std::string& path);

// The configured instance, or that of the data directory.
std::string instance_of(const Config& config);

}  // namespace runner
