#include "tests/e2e/http_client.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace tests {
namespace {

// Longer than any answer of a server that works, on a machine that does much else.
constexpr std::chrono::seconds kAnswerLimit{90};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

httplib::Request request_of(const std::string& method, const std::string& path,
                            const std::string& token, const HttpHeaders& headers) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  if (!token.empty()) request.set_header("Authorization", "Bearer " + token);
  for (const auto& [name, value] : headers) request.set_header(name, value);
  return request;
}

HttpAnswer send(const std::string& url, const httplib::Request& request,
                std::chrono::seconds limit) {
  httplib::Client client(url);
  client.set_tcp_nodelay(true);
  client.set_connection_timeout(std::chrono::seconds(5));
  client.set_read_timeout(limit);
  const httplib::Result result = client.send(request);
  HttpAnswer answer;
  if (!result) {
    answer.error = httplib::to_string(result.error());
    return answer;
  }
  answer.status = result->status;
  answer.body = result->body;
  for (const auto& [name, value] : result->headers) answer.headers.emplace(lower(name), value);
  return answer;
}

// Cuts the frames of a stream into events (WHATWG HTML, server-sent events).
class EventReader {
 public:
  explicit EventReader(const std::function<bool(const StreamEvent&)>& take) : take_(take) {}

  bool read(std::string_view piece) {
    text_ += piece;
    for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (!read_line(line)) return false;
    }
    return true;
  }

 private:
  bool read_line(const std::string& line) {
    if (!line.empty()) {
      if (line.starts_with("id: ")) event_.id = line.substr(4);
      if (line.starts_with("event: ")) event_.type = line.substr(7);
      if (line.starts_with("data: ")) event_.data += line.substr(6);
      return true;
    }
    const StreamEvent event = std::exchange(event_, {});
    return (event.data.empty() && event.type.empty()) || take_(event);
  }

  const std::function<bool(const StreamEvent&)>& take_;
  std::string text_;
  StreamEvent event_;
};

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpClient::HttpClient(std::string url, std::string token)
    : url_(std::move(url)), token_(std::move(token)) {}

HttpAnswer HttpClient::get(const std::string& path, const HttpHeaders& headers) const {
  return send(url_, request_of("GET", path, token_, headers), kAnswerLimit);
}

HttpAnswer HttpClient::post(const std::string& path, const std::string& body,
                            const HttpHeaders& headers) const {
  httplib::Request request = request_of("POST", path, token_, headers);
  if (!headers.contains("Content-Type")) request.set_header("Content-Type", "application/json");
  request.body = body;
  return send(url_, request, kAnswerLimit);
}

HttpAnswer HttpClient::remove(const std::string& path) const {
  return send(url_, request_of("DELETE", path, token_, {}), kAnswerLimit);
}

HttpAnswer HttpClient::events(const std::string& path, const std::string& last_id,
                              const std::function<bool(const StreamEvent&)>& take,
                              std::chrono::seconds limit) const {
  HttpHeaders headers;
  if (!last_id.empty()) headers["Last-Event-ID"] = last_id;
  httplib::Request request = request_of("GET", path, token_, headers);
  EventReader reader(take);
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    return reader.read({data, size});
  };
  return send(url_, request, limit);
}

}  // namespace tests
