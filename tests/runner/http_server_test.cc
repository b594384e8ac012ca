// The HTTP server against hostile clients: real sockets on loopback, bounded in count and time.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runner/http/server.h"
#include "sandbox/os/fd.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

os::Fd connect_to(int port) {
  os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return os::Fd();
  return socket;
}

// All that the server sends until it closes, or until `limit` has passed.
std::string receive(const os::Fd& socket, milliseconds limit) {
  std::string bytes;
  const auto end = steady_clock::now() + limit;
  while (steady_clock::now() < end) {
    pollfd poll_for{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&poll_for, 1, 20) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return bytes;
}

void send_text(const os::Fd& socket, const std::string& text) {
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::string ask(int port, const std::string& request, milliseconds limit = milliseconds(3000)) {
  const os::Fd socket = connect_to(port);
  if (!socket.is_open()) return "no connection";
  send_text(socket, request);
  return receive(socket, limit);
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
}

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpOptions options) {
    std::vector<HttpRoute> routes;
    routes.push_back({"GET", "/v1/things/:id", [](const HttpRequest& request) {
                        HttpResponse response;
                        response.body = "thing " + request.parameter("id");
                        return response;
                      }});
    routes.push_back({"POST", "/v1/things", [](const HttpRequest& request) {
                        HttpResponse response;
                        response.body = std::to_string(request.body.size());
                        return response;
                      }});
    routes.push_back({"GET", "/throw", [](const HttpRequest&) -> HttpResponse {
                        throw std::runtime_error("secret of the handler");
                      }});
    routes.push_back({"GET", "/stream", [](const HttpRequest&) {
                        HttpResponse response;
                        response.stream = [](HttpStream& out) {
                          for (int i = 0; i < 3; ++i) out.write("part;");
                        };
                        return response;
                      }});
    auto server = HttpServer::start(options, std::move(routes), [](const HttpRequest& request) {
      HttpResponse response;
      response.status = std::stoi(request.parameter("status"));
      response.body = "fallback";
      return response;
    });
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, MatchesOneSegmentForAParameter) {
  start({});
  EXPECT_NE(ask(server_->port(), get("/v1/things/a1")).find("thing a1"), std::string::npos);
  const std::string deeper = ask(server_->port(), get("/v1/things/a1/b"));
  EXPECT_NE(deeper.find(" 404 "), std::string::npos) << deeper;
}

TEST_F(HttpServerTest, TellsNothingOfWhatAHandlerThrows) {
  start({});
  const std::string answer = ask(server_->port(), get("/throw"));
  EXPECT_NE(answer.find(" 500 "), std::string::npos) << answer;
  EXPECT_EQ(answer.find("secret"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, StreamsABody) {
  start({});
  const std::string answer = ask(server_->port(), get("/stream"));
  EXPECT_NE(answer.find("part;"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, RefusesABodyOverTheLimitBeforeReadingIt) {
  HttpOptions options;
  options.body_limit = 1000;
  start(options);
  const std::string answer = ask(
      server_->port(),
      "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find(" 413 "), std::string::npos) << answer;
}

// How often a final answer of that status came.
int answers(const std::string& bytes, const std::string& status) {
  int count = 0;
  for (std::size_t at = 0; (at = bytes.find("HTTP/1.1 " + status, at)) != bytes.npos; ++at) ++count;
  return count;
}

TEST_F(HttpServerTest, TakesNoRefusedBodyForTheNextRequest) {
  HttpOptions options;
  options.body_limit = 1000;
  start(options);
  // Of another client behind the same proxy, as it were.
  const std::string inner = "GET /v1/things/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string chunked = "0\r\n\r\n" + inner;
  const std::string length = "Content-Length: " + std::to_string(inner.size()) + "\r\n";
  const struct {
    std::string request;
    std::string status;
  } cases[]{
      {"POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + inner, "413"},
      {"PUT /v1/things HTTP/1.1\r\nHost: x\r\n" + length + "\r\n" + inner, "405"},
      {"PATCH /v1/things HTTP/1.1\r\nHost: x\r\n\r\n" + inner, "405"},
      {"POST /v1/things HTTP/1.1\r\nHost: x\r\n\r\n" + inner, "411"},
      {"DELETE /v1/things HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
       "400"},
      {"POST /v1/things HTTP/1.1\r\nHost: x\r\n" + length + "Transfer-Encoding: chunked\r\n\r\n" +
           chunked,
       "400"},
      {"GET /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n\r\n" + inner, "400"},
      {"GET /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n" + inner, "400"},
      {"POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" + length + "\r\n" + inner,
       "400"},
      {"POST /v1/things HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + inner,
       "400"}};
  for (const auto& each : cases) {
    const std::string answer = ask(server_->port(), each.request, milliseconds(10'000));
    EXPECT_EQ(answers(answer, each.status), 1) << each.request << answer;
    EXPECT_EQ(answer.find("smuggled"), std::string::npos) << each.request << answer;
  }
}

TEST_F(HttpServerTest, KeepsAConnectionAfterABodyThatItRead) {
  start({});
  const std::string answer =
      ask(server_->port(),
          "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
          "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" +
              get("/v1/things/last"));
  EXPECT_EQ(answers(answer, "200"), 3) << answer;
}

TEST_F(HttpServerTest, RefusesAChunkedBodyOverTheLimit) {
  HttpOptions options;
  options.pack_limit = 1000;
  start(options);
  const std::string chunk = "7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n";
  const std::string answer = ask(server_->port(),
                                 "POST /v1/things HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                                 "chunked\r\nConnection: close\r\n\r\n" +
                                     chunk);
  EXPECT_EQ(answer.find(" 200 "), std::string::npos) << answer;
}

TEST_F(HttpServerTest, EndsARequestThatDripsPastItsDeadline) {
  HttpOptions options;
  options.request_deadline = milliseconds(300);
  start(options);
  const os::Fd socket = connect_to(server_->port());
  bool is_ended = false;
  // Far longer than the deadline, while each byte comes in time.
  for (int i = 0; i < 300 && !is_ended; ++i) {
    send_text(socket, i == 0 ? "GET /v1/things/a HTTP/1.1\r\n" : "X-A: b\r\n");
    is_ended =
        receive(socket, milliseconds(50)).empty() && ::send(socket.get(), "", 0, MSG_NOSIGNAL) < 0;
    char byte = 0;
    const ssize_t got = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    is_ended = is_ended || got == 0 || (got < 0 && errno != EAGAIN);
  }
  EXPECT_TRUE(is_ended);
}

// The pool is smaller than the attack: what waits for a request must give way to a good client.
TEST_F(HttpServerTest, AnswersAGoodClientBesideSixtyFourIdleConnections) {
  HttpOptions options;
  options.threads = 40;
  options.connections_per_peer = 32;
  options.idle_limit = milliseconds(20'000);
  start(options);
  std::vector<os::Fd> idle;
  for (int i = 0; i < 64; ++i) idle.push_back(connect_to(server_->port()));
  for (int i = 0; i < 5; ++i) {
    const std::string answer = ask(server_->port(), get("/v1/things/good"));
    EXPECT_NE(answer.find("thing good"), std::string::npos) << answer;
  }
}

TEST_F(HttpServerTest, AnswersAGoodClientBesideSixtyFourSlowRequests) {
  HttpOptions options;
  options.request_deadline = milliseconds(10'000);
  start(options);
  std::vector<os::Fd> slow;
  for (int i = 0; i < 64; ++i) {
    slow.push_back(connect_to(server_->port()));
    send_text(slow.back(), "GET /v1/things/slow HTTP/1.1\r\nX-Slow: ");
  }
  for (int i = 0; i < 5; ++i) {
    const std::string answer = ask(server_->port(), get("/v1/things/good"));
    EXPECT_NE(answer.find("thing good"), std::string::npos) << answer;
  }
}

TEST_F(HttpServerTest, ServesAUnixSocket) {
  char directory[] = "/tmp/proofhouse-http-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  HttpOptions options;
  options.host = std::string(directory) + "/lane.sock";
  options.threads = 6;
  start(options);
  EXPECT_EQ(::access(options.host.c_str(), F_OK), 0);
  server_.reset();
  ::unlink(options.host.c_str());
  ::rmdir(directory);
}

TEST_F(HttpServerTest, SaysThatAPortIsTaken) {
  start({});
  HttpOptions options;
  options.port = server_->port();
  const auto second =
      HttpServer::start(options, {}, [](const HttpRequest&) { return HttpResponse{}; });
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("another server"), std::string::npos);
}

}  // namespace
}  // namespace runner
