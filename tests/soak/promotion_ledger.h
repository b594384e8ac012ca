// What has to hold after a round of random promotions, whatever was killed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/soak/promotion_client.h"

namespace soak {

// The words of each line of a text, or of a file (none: no lines).
using Lines = std::vector<std::vector<std::string>>;
Lines lines_of(const std::string& text);
Lines file_lines(const std::string& path);

// How a round ended.
struct Ledger {
  std::map<std::string, int> ends;    // changes by verdict and reason
  int tips = 0;                       // commits that the target came to
  int pushed = 0;                     // of them by somebody else
  int verifications = 0;              // that passed
  std::vector<std::string> problems;  // what does not hold
  void add(const Ledger& round);
};

// Reads what a round left. Checks that every commit between `base` and the target was pushed by
// somebody else, or was verified on exactly the commit before it, as that very tree; that nothing
// pushed is gone; that every change was taken in once and ended, and that each that landed is there
// exactly once, and nothing else is.
Ledger check_round(const RoundPlace& place, const std::string& base, int changes);

}  // namespace soak
