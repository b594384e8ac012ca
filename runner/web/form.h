// Form: what a browser sends: fields of a form's body, and cookies. Bytes of anybody; bounded.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runner::web {

// The fields of an application/x-www-form-urlencoded body, in order.
class Form {
 public:
  // What is broken is left as it stands; more than kMost fields are left out.
  static Form parse(std::string_view body);
  // The first of that name; empty if there is none.
  std::string get(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;

  static constexpr std::size_t kMost = 200;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// The cookie of that name in a Cookie header; empty if there is none or more than one: a second
// one comes from somebody who may set cookies for another path or port of this host.
std::string find_cookie(std::string_view header, std::string_view name);

// True for a path of this server that a browser may be sent back to: "/…", no scheme, no host.
bool is_local_path(std::string_view text);

}  // namespace runner::web
