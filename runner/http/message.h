// HTTP messages as values: what handlers see, whatever library is below.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// One request. Header names are lower case; of repeated ones the first counts.
struct HttpRequest {
  std::string method;
  std::string path;                               // decoded
  std::map<std::string, std::string> parameters;  // ":id" of the route's pattern
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;
  std::string body;
  std::string peer;  // address of the client, or of the proxy before us

  // Empty when absent.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
  std::string query_value(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
  }
  std::string parameter(const std::string& name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
  }
};

// Writes a streamed body piece by piece. False: the client is gone, stop.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual bool write(std::string_view bytes) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
  // Set: the body is what this writes (chunked); runs on the connection's thread and must end by
  // itself within a minute or so.
  std::function<void(HttpStream&)> stream;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Method and pattern ("/v1/tasks/:id/why"); ":name" matches one segment.
struct HttpRoute {
  std::string method;
  std::string pattern;
  HttpHandler handler;
};

}  // namespace runner
