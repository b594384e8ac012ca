// Random guests: what a soak run asks for, and how it has to end.
#pragma once

#include <chrono>
#include <random>
#include <string>

#include "sandbox/request.h"

namespace soak {

struct Guest {
  sandbox::RunRequest request;
  std::string ending;                      // as sandbox::describe says it
  std::chrono::milliseconds cancel_after;  // 0: not at all
};

// One in ten runs into a limit that kills it, one in twenty is cancelled, the others end by
// themselves: by an exit code or a signal, with output, with orphans left, with a full disk. The
// guests lie below /proofhouse.
Guest random_guest(std::mt19937_64& random);

// One that runs for a minute unless it is killed.
Guest lasting_guest();

}  // namespace soak
