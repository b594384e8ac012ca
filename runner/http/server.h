// HttpServer: cpp-httplib behind our own values, with what it lacks: a deadline for the whole
// request, a bound on connections of one peer, and room that slow clients cannot take.
//
// Each connection holds one thread of a fixed pool. A request must be complete within
// `request_deadline` of its first byte, however slowly it drips; a connection that waits for a
// first byte is closed after `idle_limit`, and earlier (the longest waiting first) when its peer or
// the pool is over its share. A second server on a unix socket with threads of its own (the lane)
// answers when this one is full.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runner/http/message.h"
#include "sandbox/os/result.h"

namespace runner {

struct HttpOptions {
  std::string host = "127.0.0.1";  // or a path beginning with '/': a unix socket
  int port = 0;                    // 0: any free one
  std::size_t threads = 256;
  std::size_t connections_per_peer = 128;
  std::size_t body_limit = 8U << 20U;
  std::size_t pack_limit = 64U << 20U;  // for paths ending in /packs
  std::chrono::milliseconds request_deadline{5'000};
  std::chrono::milliseconds body_deadline{60'000};  // of a large body, after its head
  std::chrono::milliseconds idle_limit{5'000};
  std::chrono::milliseconds write_limit{10'000};  // without progress
};

class HttpServer {
 public:
  // Binds and serves on threads of its own until destroyed. `fallback` answers what no route
  // matches, and shapes the library's own errors (400, 413 …: status and reason in the request's
  // parameters "status").
  static os::Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                       std::vector<HttpRoute> routes,
                                                       HttpHandler fallback);
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  // Stops accepting and waits for requests under way.
  virtual void stop() = 0;
};

}  // namespace runner
