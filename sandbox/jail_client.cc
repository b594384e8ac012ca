#include "sandbox/jail_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <utility>

#include "sandbox/os/failpoint.h"
#include "sandbox/wire.h"

namespace sandbox {
namespace {

std::unexpected<os::Error> jail_gone() {
  return os::fail(os::Code::unavailable, "the jail has ended");
}

os::Result<void> send_packet(int socket, const Request& request) {
  const std::string packet = encode(request);
  if (packet.size() > kMaxPacket)
    return os::fail(os::Code::exhausted, "the request to the jail is too large");
  while (::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return jail_gone();
    return os::fail_errno("send to the jail");
  }
  return {};
}

os::Result<Reply> receive_packet(int socket) {
  std::string packet(kMaxPacket, '\0');
  ssize_t got = -1;
  while ((got = ::recv(socket, packet.data(), packet.size(), MSG_TRUNC)) < 0 && errno == EINTR) {
  }
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return jail_gone();
  if (got < 0) return os::fail_errno("receive from the jail");
  if (std::cmp_greater(got, packet.size()))
    return os::fail(os::Code::corrupt, "the jail's answer is too large");
  packet.resize(static_cast<std::size_t>(got));
  return TRY_CONTEXT(decode_reply(packet), "answer of the jail");
}

// Waits for the answer; sends `cancel` once when `cancel_fd` becomes readable.
os::Result<Reply> wait_for_reply(int socket, int cancel_fd) {
  std::array<pollfd, 2> watched{{{.fd = socket, .events = POLLIN, .revents = 0},
                                 {.fd = cancel_fd, .events = POLLIN, .revents = 0}}};
  while (true) {
    if (::poll(watched.data(), watched.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return os::fail_errno("wait for the jail");
    }
    if (watched[0].revents != 0) return receive_packet(socket);
    if (watched[1].revents != 0) {
      watched[1].fd = -1;
      TRY(send_packet(socket, CancelRequest{}));
    }
  }
}

os::Result<void> call(int socket, const Request& request) {
  TRY(send_packet(socket, request));
  Reply reply = TRY(receive_packet(socket));
  if (reply.error) return std::unexpected(std::move(*reply.error));
  if (reply.result) return os::fail(os::Code::corrupt, "the jail answered something else");
  return {};
}

}  // namespace

os::Result<void> JailClient::open_workspace(const WorkspaceRequest& request) {
  return call(socket_.get(), request);
}

os::Result<RunResult> JailClient::run(const RunRequest& request, int cancel_fd) {
  TRY(send_packet(socket_.get(), request));
  os::failpoint("mid-step");
  Reply reply = TRY(wait_for_reply(socket_.get(), cancel_fd));
  if (reply.error) return std::unexpected(std::move(*reply.error));
  if (!reply.result) return os::fail(os::Code::corrupt, "the jail answered without a result");
  return std::move(*reply.result);
}

os::Result<void> JailClient::publish_tree(const PublishRequest& request) {
  return call(socket_.get(), request);
}

os::Result<void> JailClient::keep_layer(const KeepLayerRequest& request) {
  return call(socket_.get(), request);
}

os::Result<os::ChildProcess> start_jail(const JailStart& start, int socket) {
  const os::Fd bounds = TRY(os::sealed_memory_file("bounds", encode(start.bounds)));
  os::SpawnRequest request;
  request.program = start.program;
  request.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  request.directory = "/";
  request.standard_error = start.standard_error;
  // Its own session: what interrupts us on a terminal must not stop it from cleaning up.
  request.new_session = true;
  const std::array<std::pair<int, int>, 9> all{{{socket, kSocketFd},
                                                {bounds.get(), kBoundsFd},
                                                {start.attempt_directory, kAttemptDirFd},
                                                {start.trees, kTreesFd},
                                                {start.layers, kLayersFd},
                                                {start.repository, kRepositoryFd},
                                                {start.directory, kDirectoryFd},
                                                {start.programs, kProgramsFd},
                                                {start.grants, kGrantsFd}}};
  for (const auto& descriptor : all)
    if (descriptor.first >= 0) request.descriptors.push_back(descriptor);
  // Nobody reads them: any numbers that are no other's do.
  constexpr int kFirstHeldFd = 256;
  for (int number = kFirstHeldFd; const int lock : start.held)
    request.descriptors.emplace_back(lock, number++);
  return os::ChildProcess::spawn(request);
}

}  // namespace sandbox
