#include "runner/cli/listen_address.h"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace runner::cli {
namespace {

constexpr int kMaxPort = 65'535;

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

os::Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon != text.npos) {
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    address.host = host;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size()) address.port = -1;
  }
  if (address.host.empty() || address.port < 0 || address.port > kMaxPort)
    return os::fail(os::Code::invalid,
                    "listen: '" + std::string(text) + "' is not HOST:PORT, as in 127.0.0.1:8470");
  if (!is_loopback(address.host))
    return os::fail(os::Code::invalid, "listen: " + address.host +
                                           " is not loopback; listening beyond it is not "
                                           "supported yet");
  return address;
}

std::string url_of(const ListenAddress& address, int port) {
  const bool is_v6 = address.host.find(':') != address.host.npos;
  return "http://" + (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
}

}  // namespace runner::cli
