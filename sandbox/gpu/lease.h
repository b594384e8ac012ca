// Lease: which GPU is held by whom. A GPU (or one MIG instance) belongs to one run at a time; the
// book of leases is one file of the machine, so that every program that leases reads the same.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/gpu/telemetry.h"
#include "sandbox/os/result.h"
#include "sandbox/os/units.h"
#include "sandbox/request.h"

namespace sandbox::gpu {

enum class GpuState : std::uint8_t {
  free,        // may be leased
  leased,      // belongs to a run
  cleaning,    // its lease is over: processes, memory and errors are looked at
  quarantined  // failed one of these; out of service until a burn-in passes
};
std::string_view gpu_state_name(GpuState state);
// A word that is none of ours is `quarantined`: out of service until somebody has looked.
GpuState parse_gpu_state(std::string_view word);

// A process, known for the life of the machine; pid 0: none.
struct HolderProcess {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // os::process_start_time
  bool is_alive() const;
  bool operator==(const HolderProcess&) const = default;
};

// One GPU's line in the book.
struct LeaseRecord {
  std::string uuid;
  GpuState state = GpuState::free;
  std::string reason;         // quarantined: why
  std::string since;          // RFC 3339 UTC, of the state
  bool is_cordoned = false;   // the operator's word: leased no more
  std::string cordon_reason;  // as given
  std::string owner;          // leased, cleaning: attempt and fence
  std::string run;            // leased, cleaning
  // Leased: the jail. Cleaning: the program that cleans. When it dies whoever sees it takes over.
  HolderProcess holder;
  bool is_exclusive = false;  // leased with all of its GPU
  std::int64_t uses = 0;      // leases so far
  bool operator==(const LeaseRecord&) const = default;
};

// What a run asks for.
struct LeaseRequest {
  std::string run;          // plain name
  int count = 1;            // GPUs, all at once or none
  os::Bytes min_memory{0};  // of each
  bool exclusive = false;   // a MIG instance only while no other instance of its GPU is leased
  // UUIDs: these and no others, if any: a comparison stays on the GPUs that it began on.
  std::vector<std::string> same;
  bool operator==(const LeaseRequest&) const = default;
};

// A GPU as the choice sees it.
struct Candidate {
  std::string uuid;
  std::string parent;  // MIG: UUID of its GPU
  os::Bytes memory;
  bool is_free = false;
  bool is_in_service = true;         // neither quarantined nor cordoned
  bool has_exclusive_lease = false;  // it is leased, and its whole GPU with it
  bool is_leased = false;
  std::int64_t uses = 0;
};

// Chooses GPUs: of those that are large enough the smallest, the least used. exhausted: not now;
// invalid: this machine has not as many of that size, whatever is free; unavailable: one of those
// that it must be has left service.
os::Result<std::vector<std::string>> choose_gpus(std::vector<Candidate> candidates,
                                                 const LeaseRequest& request);

// The machine's book of leases. Each change is durable before it returns, and no two programs
// change it at once (flock(2)). After a reboot every lease is over; quarantines and cordons stay.
class LeaseBook {
 public:
  // Makes the directory (0755, root's).
  static os::Result<LeaseBook> open(const std::string& directory);
  // For read() alone: makes nothing. Where there is no book there are no records.
  static LeaseBook look_at(std::string directory) { return LeaseBook(std::move(directory)); }
  os::Result<std::vector<LeaseRecord>> read() const;
  // `change` may edit and add records; what it leaves is written. Its error is answered, and then
  // nothing changes.
  os::Result<void> update(
      const std::function<os::Result<void>(std::vector<LeaseRecord>&)>& change) const;

 private:
  explicit LeaseBook(std::string directory) : directory_(std::move(directory)) {}
  os::Result<std::vector<LeaseRecord>> load() const;
  std::string directory_;
};

// The record of a GPU, made where there is none.
LeaseRecord& record_of(std::vector<LeaseRecord>& records, const std::string& uuid);

// One GPU for people.
struct GpuStatus {
  std::string uuid, name, parent;
  int index = 0;
  os::Bytes memory;
  GpuState state = GpuState::free;
  bool is_cordoned = false;
  bool is_usable = true;  // false: no sandbox here can have it, whatever its state; see `reason`
  std::string reason;     // why it is not leased: quarantine, cordon, or what it lacks
  std::string since;      // RFC 3339 UTC
  std::string owner, run;
  std::int64_t uses = 0;
  std::optional<GpuTelemetry> telemetry;  // of its lease so far, if this program gave it
  bool operator==(const GpuStatus&) const = default;
};

// What one GPU did for one run.
struct GpuUse {
  std::string uuid;
  std::string name;
  GpuTelemetry telemetry;
  std::vector<int> xids;  // critical errors meanwhile, in their order; each kept at most 64 times
  bool operator==(const GpuUse&) const = default;
};

// What a lease gives.
struct Lease {
  std::string run;
  std::vector<std::string> uuids;
  std::vector<std::string> environment;  // NAME=value for the command
  std::vector<std::string> gaps;         // gpu_scrub: memory is not scrubbed here
  bool operator==(const Lease&) const = default;
};

// How a lease ended.
struct LeaseEnd {
  std::vector<GpuUse> uses;
  std::string driver;  // version
  // A fault of the hardware while the run had the GPU: what it measured is worth nothing, and it is
  // done again. Empty: none. Never set by what a task can provoke.
  std::string fault;
  bool operator==(const LeaseEnd&) const = default;
};

}  // namespace sandbox::gpu
