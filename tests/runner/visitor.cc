#include "tests/runner/visitor.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace tests {
namespace {

using runner::HttpRequest;
using runner::HttpResponse;
using runner::HttpRoute;

std::string encoded(const std::string& text) {
  runner::web::Html out;
  return out.url(text).take();
}

// True if `path` fits `pattern`; fills the parameters.
bool fits(const std::string& pattern, const std::string& path,
          std::map<std::string, std::string>& parameters) {
  parameters.clear();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < pattern.size() && j < path.size()) {
    if (pattern[i] == ':') {
      const std::size_t end = std::min(pattern.find('/', i), pattern.size());
      const std::size_t stop = std::min(path.find('/', j), path.size());
      parameters[pattern.substr(i + 1, end - i - 1)] = path.substr(j, stop - j);
      i = end;
      j = stop;
    } else if (pattern[i++] != path[j++]) {
      return false;
    }
  }
  return i == pattern.size() && j == path.size();
}

}  // namespace

std::string body_of(const Fields& fields) {
  std::string body;
  for (const auto& [name, value] : fields) body += encoded(name) + "=" + encoded(value) + "&";
  return body;
}

std::string code_of(House& house, const std::string& name) {
  const auto code = house.core->create_login_code(house.actor(name));
  EXPECT_TRUE(code.has_value());
  return code ? code->code : "";
}

Visitor::Visitor(House& house, runner::web::WebOptions options)
    : web_(*house.core, std::move(options)), routes_(web_.routes()) {}

HttpResponse Visitor::send(HttpRequest request) {
  for (const HttpRoute& route : routes_)
    if (route.method == request.method && fits(route.pattern, request.path, request.parameters))
      return route.handler(request);
  return web_.fallback(request);
}

HttpResponse Visitor::get(const std::string& path, const Fields& query) {
  return send(make("GET", path, query));
}

HttpRequest Visitor::form(const std::string& path, const Fields& fields) const {
  HttpRequest request = make("POST", path, {});
  request.headers["content-type"] = "application/x-www-form-urlencoded";
  request.headers["origin"] = "http://127.0.0.1:8470";
  request.headers["sec-fetch-site"] = "same-origin";
  request.body = body_of(fields);
  return request;
}

HttpResponse Visitor::post(const std::string& path, const Fields& fields) {
  return send(form(path, fields));
}

HttpResponse Visitor::log_in(const std::string& code) {
  HttpResponse response = post("/login", {{"code", code}, {"next", "/board"}});
  const std::string set = response.headers["Set-Cookie"];
  if (response.status == 303) cookie = set.substr(0, set.find(';'));
  return response;
}

std::string Visitor::csrf() {
  const std::string page = get("/board").body;
  const std::string mark = "name=\"csrf\" value=\"";
  const std::size_t at = page.find(mark);
  return at == page.npos ? "" : page.substr(at + mark.size(), 40);
}

HttpRequest Visitor::make(const std::string& method, const std::string& path,
                          const Fields& query) const {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.query = query;
  request.headers["host"] = "127.0.0.1:8470";
  if (!cookie.empty()) request.headers["cookie"] = cookie;
  return request;
}

}  // namespace tests
