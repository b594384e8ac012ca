// HttpClient: speaks with a server as an agent's program does.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "tests/e2e/document.h"

namespace tests {

// What came back. `status` 0: no answer, and `error` says why.
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string error;

  Document document() const { return Document(body); }
  // The string at a JSON pointer of the body.
  std::string at(const std::string& pointer) const { return document().at(pointer); }
  // Empty when absent.
  std::string header(const std::string& name) const;
};

// One event of a stream.
struct StreamEvent {
  std::string id, type, data;
};

using HttpHeaders = std::map<std::string, std::string>;

// Opens a connection a call, so that it may be used from several threads.
class HttpClient {
 public:
  // `token` empty: none is sent.
  HttpClient(std::string url, std::string token);

  HttpAnswer get(const std::string& path, const HttpHeaders& headers = {}) const;
  HttpAnswer post(const std::string& path, const std::string& body,
                  const HttpHeaders& headers = {}) const;
  HttpAnswer remove(const std::string& path) const;
  // Reads a stream of events until `take` says false, the server ends it, or `limit` passed.
  HttpAnswer events(const std::string& path, const std::string& last_id,
                    const std::function<bool(const StreamEvent&)>& take,
                    std::chrono::seconds limit = std::chrono::seconds(60)) const;

 private:
  std::string url_, token_;
};

}  // namespace tests
