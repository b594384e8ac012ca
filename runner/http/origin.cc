#include "runner/http/origin.h"

#include <algorithm>

namespace runner {

std::string without_port(const std::string& host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_our_host(const std::vector<std::string>& hosts, const std::string& host) {
  return std::ranges::find(hosts, without_port(host)) != hosts.end();
}

std::string host_of_url(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    return without_port(std::string(url.substr(0, url.find('/'))));
  }
  return {};
}

}  // namespace runner
