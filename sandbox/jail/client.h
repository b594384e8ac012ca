// Client: the jail's end of the socket to its attempt.
#pragma once

#include <poll.h>

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/os/fd.h"
#include "sandbox/wire.h"

namespace sandbox::jail {

// One packet in, one packet out. "Gone" means that the other end is closed or that the jail was
// asked to end (SIGTERM): then the jail kills what runs, removes its groups and ends.
class Client {
 public:
  // Blocks SIGTERM and SIGINT for this process and takes the socket at kSocketFd.
  static os::Result<Client> take();

  // What may wake a poll(2) besides what the caller waits for.
  std::array<pollfd, 2> watched() const;

  // Waits for the next request; nothing when the client is gone. A packet that cannot be read is
  // answered with its error and not returned.
  std::optional<Request> next();

  // While a run is under way, never blocking: what came in. Other requests wait for `next`.
  enum class Event : std::uint8_t { none, cancel, gone };
  Event check();

  // True when no request waits to be taken up.
  bool is_idle() const;
  void answer(const Reply& reply);
  bool is_gone() const { return is_gone_; }

 private:
  Client() = default;
  // A view of buffer_, good until the next call.
  std::optional<std::string_view> receive(int flags);
  std::optional<Request> decode(std::string_view packet);

  os::Fd socket_;
  os::Fd signals_;
  std::string buffer_;  // one packet; kept, because its pages are dear to get
  std::deque<Request> waiting_;
  bool is_gone_ = false;
};

}  // namespace sandbox::jail
