// Visitor: the pages without a browser and without a socket.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/web/web.h"
#include "tests/runner/house.h"

namespace tests {

using Fields = std::map<std::string, std::string>;

// As a form's body.
std::string body_of(const Fields& fields);

// A login code of one of the house's people; fails the test where there is none.
std::string code_of(House& house, const std::string& name);

// A browser's part: sends cookies and the headers of a form, and follows nothing.
class Visitor {
 public:
  // The house outlives this object.
  explicit Visitor(House& house, runner::web::WebOptions options = {});

  runner::HttpResponse send(runner::HttpRequest request);
  runner::HttpResponse get(const std::string& path, const Fields& query = {});
  // A form as a page of ours sends it.
  runner::HttpRequest form(const std::string& path, const Fields& fields) const;
  runner::HttpResponse post(const std::string& path, const Fields& fields);
  // Keeps the cookie where it worked.
  runner::HttpResponse log_in(const std::string& code);
  // The form's token, as it stands on a page.
  std::string csrf();

  std::string cookie;

 private:
  runner::HttpRequest make(const std::string& method, const std::string& path,
                           const Fields& query) const;

  runner::web::Web web_;
  std::vector<runner::HttpRoute> routes_;
};

}  // namespace tests
