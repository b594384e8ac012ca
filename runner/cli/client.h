// Client: HTTP to a Proofhouse server.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runner/cli/server_address.h"
#include "sandbox/os/result.h"

namespace runner::cli {

struct HttpCall {
  std::string method = "GET";
  std::string path;  // with its query, encoded
  std::map<std::string, std::string> headers;
  std::string body;
  std::string content_type = "application/json";
  // Until the answer's head is there; more than the server may hold a request open.
  std::chrono::milliseconds limit{75'000};
};

// Header names are lower case.
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;

  bool is_success() const { return status >= 200 && status < 300; }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

// One connection, kept open between calls. Not thread-safe, but for stop(). Never follows a
// redirect: the token goes to the server that was named and to no other.
class Client {
 public:
  // The largest answer that is taken.
  static constexpr std::size_t kMaxAnswer = 128U << 20U;
  // How often a call is tried while the server answers 429 or 503.
  static constexpr int kTries = 6;

  explicit Client(const ServerAddress& address);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // One call. 429 and 503 with Retry-After are tried again, with the same headers, after as long as
  // they ask (at most a minute each) and a random part more. Any other status is a value.
  // unavailable: the server cannot be reached, or the answer broke off; denied: it is a redirect.
  os::Result<HttpAnswer> send(const HttpCall& call);

  // A body that goes on: `take` gets its pieces. The answer without its body, once that ended;
  // cancelled: `take` answered false.
  os::Result<HttpAnswer> stream(const HttpCall& call,
                                const std::function<bool(std::string_view)>& take);

  // Breaks off what another thread waits for.
  void stop();

  const std::string& url() const { return url_; }

 private:
  struct Connection;
  os::Result<HttpAnswer> send_once(const HttpCall& call);

  std::string url_;
  std::string token_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace runner::cli
