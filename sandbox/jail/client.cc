#include "sandbox/jail/client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace sandbox::jail {
namespace {

// A client that sends more than that during one run breaks the protocol.
constexpr std::size_t kMostWaiting = 8;

}  // namespace

os::Result<Client> Client::take() {
  Client client;
  client.buffer_.resize(kMaxPacket);
  if (::fcntl(kSocketFd, F_SETFD, FD_CLOEXEC) != 0)
    return os::fail_errno("no socket was given at descriptor 64");
  client.socket_ = os::Fd(kSocketFd);
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::sigaddset(&ending, SIGINT);
  if (::sigprocmask(SIG_BLOCK, &ending, nullptr) != 0) return os::fail_errno("block signals");
  client.signals_ = os::Fd(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!client.signals_.is_open()) return os::fail_errno("make a signal descriptor");
  ::signal(SIGPIPE, SIG_IGN);
  return client;
}

std::array<pollfd, 2> Client::watched() const {
  return {pollfd{socket_.get(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
}

std::optional<std::string_view> Client::receive(int flags) {
  ssize_t got = -1;
  do {
    got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), flags | MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  if (got <= 0) {
    is_gone_ = true;
    return std::nullopt;
  }
  // Longer than the buffer: cut, so it does not decode and is answered as invalid.
  return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
}

std::optional<Request> Client::decode(std::string_view packet) {
  os::Result<Request> request = decode_request(packet);
  if (request) return std::move(*request);
  answer({request.error(), std::nullopt});
  return std::nullopt;
}

std::optional<Request> Client::next() {
  while (!is_gone_) {
    if (!waiting_.empty()) {
      Request request = std::move(waiting_.front());
      waiting_.pop_front();
      return request;
    }
    std::array<pollfd, 2> fds = watched();
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) is_gone_ = true;
    if (fds[1].revents != 0) is_gone_ = true;
    if (is_gone_ || fds[0].revents == 0) continue;
    const std::optional<std::string_view> packet = receive(0);
    if (!packet) continue;
    std::optional<Request> request = decode(*packet);
    // A cancel that crossed the end of its run has nothing to cancel and no answer.
    if (request && !std::holds_alternative<CancelRequest>(*request)) return request;
  }
  return std::nullopt;
}

Client::Event Client::check() {
  std::array<pollfd, 2> fds = watched();
  if (::poll(fds.data(), fds.size(), 0) <= 0) return Event::none;
  if (fds[1].revents != 0) is_gone_ = true;
  while (!is_gone_) {
    const std::optional<std::string_view> packet = receive(MSG_DONTWAIT);
    if (!packet) break;
    std::optional<Request> request = decode(*packet);
    if (!request) continue;
    if (std::holds_alternative<CancelRequest>(*request)) return Event::cancel;
    if (waiting_.size() == kMostWaiting) is_gone_ = true;
    waiting_.push_back(std::move(*request));
  }
  return is_gone_ ? Event::gone : Event::none;
}

bool Client::is_idle() const {
  std::array<pollfd, 2> fds = watched();
  return !is_gone_ && waiting_.empty() && ::poll(fds.data(), fds.size(), 0) == 0;
}

void Client::answer(const Reply& reply) {
  const std::string packet = encode(reply);
  const ssize_t sent = ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(packet.size())) return;
  if (sent < 0 && errno == EMSGSIZE) {
    const Reply shorter{os::Error{os::Code::exhausted, "the answer is too long for a packet", 0},
                        std::nullopt};
    const std::string text = encode(shorter);
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0) return;
  }
  is_gone_ = true;
}

}  // namespace sandbox::jail
