// Flights: submissions that are under way, so that the same one sent several times at once is
// taken in once.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runner/service_core.h"
#include "sandbox/os/guarded.h"

namespace runner {

// One submission on its way in.
struct ServiceCore::Admission {
  const Actor& actor;
  const Submission& submission;
  store::ProjectRow project;
  GitTip tip;
  std::string key;   // idempotency key, given or derived
  std::string body;  // digest of the submission
};

// By (principal, key): the first of them does the work, the others wait for its answer.
struct ServiceCore::Flights {
  struct Flight {
    std::string body;
    std::shared_future<Answer<Submitted>> answer;
  };
  os::Guarded<std::map<std::pair<std::string, std::string>, Flight>> under_way;
};

}  // namespace runner
