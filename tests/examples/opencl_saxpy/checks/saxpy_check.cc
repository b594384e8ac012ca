// Compares saxpy with a reference in double precision.
//
//   saxpy_check REPORT
//
// REPORT gets one TAP test a size. Ends with 0 if all passed, else with 1.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "saxpy.h"

namespace {

// The first difference from the reference beyond two roundings, as words; empty: there is none.
std::string compare(std::size_t size) {
  std::mt19937 random(7);
  std::normal_distribution<float> value(0, 4);
  const float a = 1.7F;
  std::vector<float> x(size);
  std::vector<float> y(size);
  for (float& each : x) each = value(random);
  for (float& each : y) each = value(random);
  std::vector<float> got = y;
  if (std::string why = saxpy(a, x, got); !why.empty()) return why;
  for (std::size_t i = 0; i < size; ++i) {
    const double product = static_cast<double>(a) * x[i];
    const double bound = (std::fabs(product) + std::fabs(product + y[i])) * 1.2e-7;
    if (!(std::fabs(product + y[i] - got[i]) <= bound))
      return "element " + std::to_string(i) + " is " + std::to_string(got[i]);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::FILE* const report = std::fopen(argv[1], "w");
  if (report == nullptr) return 2;
  const std::vector<std::size_t> sizes{1, 63, 4096, 100'003, 1U << 20U};
  std::fprintf(report, "TAP version 13\n1..%zu\n", sizes.size());
  bool is_right = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string wrong = compare(sizes[i]);
    std::fprintf(report, "%s %zu - %zu elements\n", wrong.empty() ? "ok" : "not ok", i + 1,
                 sizes[i]);
    if (!wrong.empty()) std::fprintf(report, "# %s\n", wrong.c_str());
    is_right = is_right && wrong.empty();
  }
  return std::fclose(report) == 0 && is_right ? 0 : 1;
}
