// Each body is 10 to 40 microseconds of arithmetic on data that fits the first-level cache,
// so that the least of a few short repetitions is a steady figure also on a busy machine.
#include <vector>

#include "mathkit/matrix.h"
#include "mathkit/special.h"
#include "mathkit/statistics.h"
#include <benchmark/benchmark.h>

namespace {

void BM_Erfc(benchmark::State& state) {
  for (auto _ : state) {
    double last = 0;
    for (int i = 0; i < 64; ++i) {
      last = mathkit::erfc(2 + i * 0.0625 + last);  // each call waits for the one before
    }
    benchmark::DoNotOptimize(last);
  }
}
BENCHMARK(BM_Erfc);

void BM_MatrixMultiply(benchmark::State& state) {
  mathkit::Matrix left(40, 40);
  mathkit::Matrix right(40, 40);
  for (unsigned i = 0; i < 40 * 40; ++i) {
    left.at(i / 40, i % 40) = 1.0 / (i + 1);
    right.at(i / 40, i % 40) = i % 7;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(mathkit::multiply(left, right));
  }
}
BENCHMARK(BM_MatrixMultiply);

void BM_Variance(benchmark::State& state) {
  std::vector<double> values(2048);
  for (unsigned i = 0; i < values.size(); ++i) {
    values[i] = i * 7919 % 2048;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(mathkit::variance(values));
  }
}
BENCHMARK(BM_Variance);

}  // namespace

BENCHMARK_MAIN();
