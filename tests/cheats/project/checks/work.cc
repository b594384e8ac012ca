// Runs one call of the library on each input: the first byte says which function.
#include "proofhouse_harness.h"
#include "tally.h"

namespace {

// Inputs are aligned for any type, so the payload begins after 8 bytes.
constexpr std::size_t kHeader = 8;

void answer_one(proofhouse::Input in, proofhouse::Answer& answer) {
  if (in.size < kHeader) return;
  unsigned char* const bytes = in.data + kHeader;
  const std::size_t count = in.size - kHeader;
  switch (in.data[0]) {
    case 's': {
      const std::int64_t sum =
          tally::sum(reinterpret_cast<const std::int32_t*>(bytes), count / sizeof(std::int32_t));
      return answer.put(&sum, sizeof sum);
    }
    case 'h': {
      const std::uint32_t hash = tally::hash(bytes, count);
      return answer.put(&hash, sizeof hash);
    }
    case 'o':
      tally::sort(reinterpret_cast<std::int32_t*>(bytes), count / sizeof(std::int32_t));
      return answer.put(bytes, count);
    case 'm': {
      const double mean =
          tally::mean(reinterpret_cast<const double*>(bytes), count / sizeof(double));
      return answer.put(&mean, sizeof mean);
    }
    case 'p': {
      const auto* const words = reinterpret_cast<const std::uint64_t*>(bytes);
      const std::uint64_t sum =
          tally::power_sum(words + 2, count / sizeof(std::uint64_t) - 2, words[0], words[1]);
      return answer.put(&sum, sizeof sum);
    }
    default:
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return proofhouse::interact(answer_one);
  return proofhouse::work(argc, argv, answer_one);
}
