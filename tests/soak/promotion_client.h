// One life of a server with its clients: submits random changes, decides on them, pushes past them.
#pragma once

#include <cstdint>
#include <string>

namespace soak {

// A directory in which everything of a round lies, across the lives of its server.
struct RoundPlace {
  std::string path;
  std::string data() const { return path + "/data"; }
  std::string repository() const { return path + "/repository.git"; }
  // A line for each attempt that passed: base, candidate and tree.
  std::string verified() const { return path + "/verified"; }
  // A line for each commit that somebody else is about to push, and one where that was done.
  std::string pushing() const { return path + "/pushing"; }
  std::string pushed() const { return path + "/pushed"; }
  // A line for each change that was taken in (number, task), and for each that ended (see
  // EndedChange).
  std::string submitted() const { return path + "/submitted"; }
  std::string ended() const { return path + "/ended"; }
};

struct ClientOrder {
  RoundPlace place;
  int changes = 0;
  std::uint64_t seed = 0;
  int life = 0;  // how often the server was killed before
};

// Runs until every change has ended; may be killed at any instant and started again. 0: all ended;
// 1: something is stuck or was refused without reason, which standard error tells.
int run_client(const ClientOrder& order);

}  // namespace soak
