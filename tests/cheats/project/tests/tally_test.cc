// clang-format off: the framework comes before what it tests, as it does in many projects.
#include <cmath>

#include "check.h"
#include "tally.h"
// clang-format on

static const std::int32_t kValues[] = {5, -3, 8, 0, 13, -21, 34, 2};
static const double kReals[] = {0.5, 1.5, -4.0, 10.0};
static const std::uint64_t kBases[] = {2, 3, 10};

static bool sorts() {
  std::int32_t values[8];
  for (int i = 0; i < 8; ++i) values[i] = kValues[i];
  tally::sort(values, 8);
  for (int i = 1; i < 8; ++i)
    if (values[i - 1] > values[i]) return false;
  return values[0] == -21 && values[7] == 34;
}

int main(int, char** argv) {
  CHECK("Sum.OfEight", tally::sum(kValues, 8) == 38);
  CHECK("Sum.OfNone", tally::sum(kValues, 0) == 0);
  CHECK("Hash.OfAbc", tally::hash(reinterpret_cast<const unsigned char*>("abc"), 3) == 440920331U);
  CHECK("Sort.OfEight", sorts());
  CHECK("Mean.OfFour", !(std::fabs(tally::mean(kReals, 4) - 2.0) > 1e-9));
  CHECK("PowerSum.OfThree", tally::power_sum(kBases, 3, 10, 1000) == 24 + 49);
  return check_report(argv[1]);
}
