#include "runner/executor/gpu_desk.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sandbox/cgroup_files.h"
#include "sandbox/gpu/release.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using sandbox::gpu::DeskAnswer;
using sandbox::gpu::Lease;
using sandbox::gpu::LeaseEnd;
using sandbox::gpu::LeaseRequest;

constexpr const char* kGrants = "/run/proofhouse/grants/";
constexpr int kMostGpus = 64;
// A request that was passed so often holds back all behind it until it fits.
constexpr int kMostOvertaken = 8;

void send_answer(os::Fd& socket, const DeskAnswer& answer) {
  const std::string packet = sandbox::gpu::encode(answer);
  // A client that does not take its answer is no client.
  if (::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    socket.close();
}

}  // namespace

GpuDesk::GpuDesk(const ExecutorOptions& options, std::unique_ptr<sandbox::gpu::GpuPool> pool,
                 sandbox::CgroupHost cgroups)
    : instance_(options.instance), pool_(std::move(pool)), cgroups_(std::move(cgroups)) {}

std::unique_ptr<GpuDesk> GpuDesk::open(const ExecutorOptions& options, std::string& why) {
  sandbox::gpu::PoolOptions gpus = options.gpus;
  // Beside our programs where they were built with CUDA.
  sandbox::gpu::find_tools(gpus, options.programs);
  sandbox::gpu::allow_gaps(gpus, options.gaps_allowed);
  os::Result<sandbox::CgroupHost> cgroups = sandbox::CgroupHost::detect();
  os::Result<std::unique_ptr<sandbox::gpu::GpuPool>> pool = sandbox::gpu::GpuPool::open(gpus);
  if (!pool || !cgroups) {
    why = pool ? cgroups.error().message : pool.error().message;
    return nullptr;
  }
  return std::unique_ptr<GpuDesk>(new GpuDesk(options, std::move(*pool), std::move(*cgroups)));
}

os::Result<void> GpuDesk::set_cordon(const std::string& uuid, bool is_cordoned,
                                     const std::string& reason) {
  return is_cordoned ? pool_->cordon(uuid, reason) : pool_->uncordon(uuid);
}

os::Result<DeskSeat> GpuDesk::prepare(const std::string& key) {
  Seat seat;
  seat.grants = kGrants + instance_ + "/" + key;
  TRY(os::remove_tree(seat.grants));
  TRY(os::make_directories(seat.grants, 0700));
  std::array<os::Fd, 2> sockets = TRY(os::seqpacket_pair());
  DeskSeat made;
  made.grants = TRY(os::open_file(seat.grants, O_PATH | O_DIRECTORY));
  made.socket = std::move(sockets[1]);
  made.driver_files = pool_->inventory().driver_files;
  seat.socket = std::move(sockets[0]);
  seats_.insert_or_assign(key, std::move(seat));
  return made;
}

void GpuDesk::seat(const Living& living) {
  const auto found = seats_.find(living.key());
  if (found == seats_.end()) return;
  found->second.jail = {living.jail.pid(), living.jail.start_time()};
  found->second.cgroup = attempt_cgroup(instance_, living.attempt, living.fence);
}

void GpuDesk::leave(const std::string& key) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.key == key; });
  pool_->release_all(key);
  seats_.erase(key);
  static_cast<void>(os::remove_tree(kGrants + instance_ + "/" + key).has_value());
  // The last one takes the instance's directory with it.
  ::rmdir((kGrants + instance_).c_str());
}

void GpuDesk::sweep() const { static_cast<void>(os::remove_tree(kGrants + instance_).has_value()); }

void GpuDesk::add_polls(std::vector<pollfd>& polls) const {
  polls.push_back({.fd = pool_->changed_fd(), .events = POLLIN, .revents = 0});
  for (const auto& [key, seat] : seats_)
    polls.push_back({.fd = seat.socket.get(), .events = POLLIN, .revents = 0});
}

void GpuDesk::serve() {
  pool_->acknowledge();
  std::string packet(sandbox::gpu::kMostDeskBytes, '\0');
  for (auto& [key, seat] : seats_) {
    if (!seat.socket.is_open()) continue;
    const ssize_t got = ::recv(seat.socket.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got > 0) {
      take(key, seat, packet.substr(0, static_cast<std::size_t>(got)));
      continue;
    }
    // It waits no more and holds nothing: it closed its end.
    seat.socket.close();
    std::erase_if(waiting_, [&](const Waiting& one) { return one.key == key; });
    pool_->release_all(key);
  }
  give_out();
}

void GpuDesk::take(const std::string& key, Seat& seat, const std::string& packet) {
  const os::Result<sandbox::gpu::DeskRequest> request = sandbox::gpu::decode_desk_request(packet);
  DeskAnswer answer;
  if (!request) {
    answer.error = request.error();
  } else if (const auto* wish = std::get_if<LeaseRequest>(&*request)) {
    if (os::is_plain_name(wish->run) && wish->count >= 1 && wish->count <= kMostGpus) {
      waiting_.push_back({key, *wish});
      return;
    }
    answer.error = os::Error{os::Code::invalid, "not a lease that can be asked for", 0};
  } else {
    const std::string& run = std::get<sandbox::gpu::ReleaseRequest>(*request).run;
    os::Result<LeaseEnd> end = pool_->release(key, run);
    if (end)
      answer.end = std::move(*end);
    else
      answer.error = end.error();
    if (os::is_plain_name(run)) ::unlink((seat.grants + "/" + run).c_str());
  }
  send_answer(seat.socket, answer);
}

os::Result<Lease> GpuDesk::lease(const std::string& key, const Seat& seat,
                                 const LeaseRequest& request) {
  // One run of an attempt at a time: what all of its groups use is what this one uses.
  const std::string& group = seat.cgroup;
  Lease lease = TRY(pool_->acquire(
      request, {.owner = key, .process = seat.jail, .cpu_us = [host = cgroups_, group] {
                  return sandbox::group_cpu_us(host, group);
                }}));
  const os::Result<sandbox::GpuGrant> grant = pool_->grant(key, request.run);
  const os::Result<void> written =
      grant ? os::write_file_durably(seat.grants + "/" + request.run, sandbox::encode(*grant), 0600)
            : os::Result<void>(std::unexpected(grant.error()));
  if (written) return lease;
  static_cast<void>(pool_->release(key, request.run).has_value());
  return std::unexpected(written.error());
}

void GpuDesk::give_out() {
  std::deque<Waiting> left;
  bool is_held_back = false;
  for (Waiting& one : waiting_) {
    const auto seat = seats_.find(one.key);
    if (seat == seats_.end() || !seat->second.socket.is_open()) continue;
    os::Result<Lease> given =
        is_held_back ? os::Result<Lease>(os::fail(os::Code::exhausted, "others are before it"))
                     : lease(one.key, seat->second, one.request);
    if (!given && given.error().code == os::Code::exhausted) {
      is_held_back = is_held_back || one.overtaken >= kMostOvertaken;
      left.push_back(std::move(one));
      continue;
    }
    for (Waiting& passed : left) ++passed.overtaken;
    DeskAnswer answer;
    if (given)
      answer.lease = std::move(*given);
    else
      answer.error = given.error();
    send_answer(seat->second.socket, answer);
  }
  waiting_ = std::move(left);
}

}  // namespace runner
