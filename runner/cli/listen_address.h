// ListenAddress: where HTTP is served.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/os/result.h"

namespace runner::cli {

struct ListenAddress {
  std::string host;
  int port = 0;  // 0: any free one
};

// "127.0.0.1:8470", "[::1]:0", "localhost:8470". invalid: not such a one, or not loopback: beyond
// it a proxy has to stand in front, which is not supported yet.
os::Result<ListenAddress> parse_listen_address(std::string_view text);

// "http://127.0.0.1:8470" for that address with the port that was really taken.
std::string url_of(const ListenAddress& address, int port);

}  // namespace runner::cli
