#pragma once

namespace tests {

// How long the live part may take.
struct LiveOptions {
  int gates = 20;    // for each slow-down
  int seconds = 90;  // at most for one gate
};

// Gates with a tolerance of 5 % on three programs that are alike but for their work: as much, 5 %
// and 10 % more, which callgrind's instruction counts verify first. Prints a line for each gate
// with its verdict, the spread of its pairs and the smallest slow-down it can find. False where
// gates whose pairs spread by at most 4 % err more often than they may, or where a gate whose
// pairs spread by more is decided.
bool measure_live(const LiveOptions& options);

}  // namespace tests
