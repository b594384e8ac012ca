// What the live benchmark gates measure: SUBJECT_WORK is 100 on the base, more where it is slower.
// `--count N` runs the kernel N times and nothing else, for counting instructions.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

// A chain of dependent multiplications: its time is its instructions.
std::uint64_t run_kernel(std::uint64_t value) {
  for (int i = 0; i < SUBJECT_WORK * 50; ++i) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
  }
  return value;
}

void measure_chain(benchmark::State& state) {
  std::uint64_t value = 1;
  for (auto _ : state) {
    value = run_kernel(value);
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(measure_chain)->Name("BM_Chain");

// The same in every subject.
void measure_sum(benchmark::State& state) {
  std::vector<std::uint64_t> values(4096, 3);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values) sum = (sum ^ value) * 31;
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(measure_sum)->Name("BM_Sum");

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string_view(arguments[1]) == "--count") {
    std::uint64_t value = 1;
    for (long left = std::strtol(arguments[2], nullptr, 10); left > 0; --left) {
      value = run_kernel(value);
    }
    return std::printf("%llu\n", static_cast<unsigned long long>(value)) < 0 ? 1 : 0;
  }
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
