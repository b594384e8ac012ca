// A benchmark as projects write them: one process, one buffer, the process's own clocks. It finds
// its number of calls by itself, and says what it found in Google Benchmark's format.
#include <cstdio>
#include <ctime>

#include "tally.h"

static double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

static std::uint64_t bases[36];
static volatile std::uint64_t result;

static double measure(long calls) {
  const double begin = now();
  for (long i = 0; i < calls; ++i) {
    bases[0] = static_cast<std::uint64_t>(i) % 3;
    result = tally::power_sum(bases, 36, (1ULL << 62U) + 12345, (1ULL << 61U) - 1);
  }
  return now() - begin;
}

int main(int, char** argv) {
  for (std::uint64_t i = 0; i < 36; ++i) bases[i] = 2 * i + 3;
  long calls = 1;
  // Until a measurement takes 5 ms: what the first calls say decides how many there are.
  while (measure(calls) < 5e6 && calls < 4096) calls *= 2;
  std::FILE* const out = std::fopen(argv[1], "w");
  if (out == nullptr) return 2;
  std::fprintf(out, "{\"context\": {\"executable\": \"bench\"}, \"benchmarks\": [");
  for (int repetition = 0; repetition < 4; ++repetition) {
    const double each = measure(calls) / static_cast<double>(calls) + 0.001;
    std::fprintf(out,
                 "%s{\"name\": \"PowerSum\", \"run_name\": \"PowerSum\", \"run_type\": "
                 "\"iteration\", \"repetitions\": 4, \"repetition_index\": %d, \"threads\": 1, "
                 "\"iterations\": %ld, \"real_time\": %.3f, \"cpu_time\": %.3f, \"time_unit\": "
                 "\"ns\"}",
                 repetition == 0 ? "" : ", ", repetition, calls, each, each);
  }
  std::fprintf(out, "]}\n");
  return std::fclose(out) == 0 ? 0 : 2;
}
