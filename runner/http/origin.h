// Origin: which server a request believes that it speaks with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// "example.org" of "example.org:8470", "[::1]" of "[::1]:80".
std::string without_port(const std::string& host);
// True if a Host header (or the part of an Origin behind "://") names one of `hosts`.
bool is_our_host(const std::vector<std::string>& hosts, const std::string& host);

// The host of "https://example.org:8443/"; empty if that is no http or https address.
std::string host_of_url(std::string_view url);

}  // namespace runner
