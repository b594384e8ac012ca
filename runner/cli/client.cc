#include "runner/cli/client.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runner/cli/terminal.h"
#include "runner/version.h"

namespace runner::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kConnectLimit{5};
constexpr seconds kLongestPause{60};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_to_be_tried_again(int status) { return status == 429 || status == 503; }

// What Retry-After asks for (in seconds; one with a date counts as absent), else 1, 2, 4 ... s,
// and up to a quarter more: clients that were refused together do not come back together.
milliseconds pause_before(const HttpAnswer& answer, int tries) {
  const std::string asked = answer.header("retry-after");
  int count = 1 << std::min(tries, 5);
  if (!asked.empty()) std::from_chars(asked.data(), asked.data() + asked.size(), count);
  const milliseconds pause = std::clamp<milliseconds>(seconds(count), seconds(0), kLongestPause);
  std::random_device device;
  const auto part = std::uniform_int_distribution<std::int64_t>(0, pause.count() / 4)(device);
  return pause + milliseconds(part);
}

}  // namespace

struct Client::Connection {
  explicit Connection(const std::string& url) : http(url) {}
  httplib::Client http;
};

Client::Client(const ServerAddress& address)
    : url_(address.url),
      token_(address.token),
      connection_(std::make_unique<Connection>(address.url)) {
  httplib::Client& http = connection_->http;
  http.set_follow_location(false);
  http.set_keep_alive(true);
  http.set_tcp_nodelay(true);
  http.set_connection_timeout(kConnectLimit);
  http.set_write_timeout(seconds(60));
}

Client::Client(Client&&) noexcept = default;
Client::~Client() = default;

os::Result<HttpAnswer> Client::send_once(const HttpCall& call) {
  std::string body;
  os::Result<HttpAnswer> answer = stream(call, [&](std::string_view piece) {
    body += piece;
    return body.size() <= kMaxAnswer;
  });
  if (answer) answer->body = std::move(body);
  if (!answer && answer.error().code == os::Code::cancelled)
    return os::fail(os::Code::exhausted, url_ + call.path + ": the answer is too large");
  return answer;
}

os::Result<HttpAnswer> Client::send(const HttpCall& call) {
  for (int tries = 0;; ++tries) {
    HttpAnswer answer = TRY(send_once(call));
    if (!is_to_be_tried_again(answer.status) || tries + 1 >= kTries) return answer;
    const milliseconds pause = pause_before(answer, tries);
    say(fmt::format("{} answers {}; trying again in {:.1f} s", url_, answer.status,
                    static_cast<double>(pause.count()) / 1000));
    std::this_thread::sleep_for(pause);
  }
}

os::Result<HttpAnswer> Client::stream(const HttpCall& call,
                                      const std::function<bool(std::string_view)>& take) {
  httplib::Request request;
  request.method = call.method;
  request.path = call.path;
  for (const auto& [name, value] : call.headers) request.set_header(name, value);
  request.set_header("User-Agent", std::string("proofhouse/") + kVersion);
  if (!token_.empty()) request.set_header("Authorization", "Bearer " + token_);
  if (!call.body.empty() || call.method == "POST") {
    request.set_header("Content-Type", call.content_type);
    request.body = call.body;
  }
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    return take({data, size});
  };
  connection_->http.set_read_timeout(std::max<milliseconds>(call.limit, seconds(1)));
  const httplib::Result result = connection_->http.send(request);
  if (!result && result.error() == httplib::Error::Canceled)
    return os::fail(os::Code::cancelled, url_ + call.path + ": broken off");
  if (!result)
    return os::fail(os::Code::unavailable,
                    fmt::format("{} {}: {}", url_, call.path, httplib::to_string(result.error())));
  if (result->status >= 300 && result->status < 400 && result->status != 304)
    return os::fail(os::Code::denied,
                    fmt::format("{} answers with a redirect, which is not followed", url_));
  HttpAnswer answer;
  answer.status = result->status;
  for (const auto& [name, value] : result->headers) answer.headers.emplace(lower(name), value);
  return answer;
}

void Client::stop() { connection_->http.stop(); }

}  // namespace runner::cli
