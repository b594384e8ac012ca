// Desk: how an attempt leases GPUs for its steps from its executor.
//
// Transport: a SOCK_SEQPACKET unix socket (kExecutorFd), one JSON object a packet. An attempt has
// one request open at a time; each is answered once. An attempt that is gone has given all back.
//   {"schema":1,"op":"acquire","run":…,"count":…,"min_memory":…,"exclusive":…,"same":[…]}
//   {"schema":1,"op":"release","run":…}
//   {"schema":1,"error":{…}} · {"schema":1,"lease":{…}} · {"schema":1,"end":{…}}
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/gpu/lease.h"
#include "sandbox/os/fd.h"

namespace sandbox::gpu {

inline constexpr std::size_t kMostDeskBytes = 64U << 10U;

struct ReleaseRequest {
  std::string run;
  bool operator==(const ReleaseRequest&) const = default;
};
using DeskRequest = std::variant<LeaseRequest, ReleaseRequest>;

struct DeskAnswer {
  std::optional<os::Error> error;
  std::optional<Lease> lease;
  std::optional<LeaseEnd> end;
  bool operator==(const DeskAnswer&) const = default;
};

std::string encode(const DeskRequest& request);
os::Result<DeskRequest> decode_desk_request(std::string_view json);
std::string encode(const DeskAnswer& answer);
os::Result<DeskAnswer> decode_desk_answer(std::string_view json);

// Puts what a lease gives into a command's environment of NAME=value. The driver's path comes in
// front of a library path that is there already.
void add_variables(const Lease& lease, std::vector<std::string>& environment);

nlohmann::json to_json(const LeaseEnd& end);

// The form that the executor's protocol and the API use.
nlohmann::json to_json(const GpuStatus& status);
// Throws nlohmann::json::exception where it is another form.
GpuStatus gpu_status_from_json(const nlohmann::json& object);

// The attempt's side. Not thread-safe.
class DeskClient {
 public:
  // Closed: this attempt has no executor to lease from, and every call answers unavailable.
  explicit DeskClient(os::Fd socket) : socket_(std::move(socket)) {}

  // Waits until the GPUs are there. cancelled: `cancel_fd` (borrowed, -1: none) became readable;
  // timeout after `limit`: the socket is closed then, and nothing is held any more.
  os::Result<Lease> acquire(const LeaseRequest& request, std::chrono::milliseconds limit,
                            int cancel_fd = -1);
  os::Result<LeaseEnd> release(const std::string& run);

 private:
  os::Result<DeskAnswer> call(const DeskRequest& request, std::chrono::milliseconds limit,
                              int cancel_fd);
  os::Fd socket_;
};

}  // namespace sandbox::gpu
