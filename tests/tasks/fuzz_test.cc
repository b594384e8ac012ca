// Mutations of the corpus, a second for each reader: no crash, no hang, no growth. `./dev fuzz`
// does the same with libFuzzer's eyes, for longer.

#include "tests/tasks/fuzz.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/programs.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxInput = 64U << 10U;

std::vector<std::string> seeds(const std::string& format) {
  std::vector<std::string> inputs;
  for (const auto& entry :
       fs::directory_iterator(tests::source_dir() / "tests/tasks/corpus" / format)) {
    if (entry.path().extension() == ".expected") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    inputs.push_back(std::move(text).str().substr(0, kMaxInput));
  }
  std::ranges::sort(inputs);
  return inputs;
}

// Changes, drops, doubles or swaps a few pieces, or puts in what parsers stumble over.
std::string mutate(std::string text, const std::vector<std::string>& inputs,
                   std::mt19937_64& random) {
  static const std::vector<std::string> kPieces{"\"",
                                                "\\",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                "<",
                                                ">",
                                                "&",
                                                "\n",
                                                std::string(1, '\0'),
                                                "\xff",
                                                "NaN",
                                                "-1",
                                                "9223372036854775808",
                                                "1e999",
                                                "</testcase>",
                                                "<![CDATA[",
                                                "not ok",
                                                "1..",
                                                "null"};
  const auto below = [&random](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t count = 1 + below(4); count > 0; --count) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(64), text.size() - at);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 4: {
        const std::string& other = inputs[below(inputs.size())];
        text.insert(at, other.substr(below(other.size() + 1), below(256)));
        break;
      }
      default:
        text.resize(at);
        break;
    }
  }
  return text.substr(0, kMaxInput);
}

class Fuzz : public testing::TestWithParam<std::string> {};

TEST_P(Fuzz, ReadsMutatedFilesWithoutACrash) {
  const auto format = tasks::parse_report_format(GetParam());
  ASSERT_TRUE(format.has_value());
  const std::vector<std::string> inputs = seeds(GetParam());
  ASSERT_FALSE(inputs.empty());
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end)
    tests::fuzz_reader(*format, mutate(inputs[random() % inputs.size()], inputs, random));
}

INSTANTIATE_TEST_SUITE_P(Readers, Fuzz,
                         testing::Values("gtest-json", "gtest-xml", "ctest-junit", "pytest",
                                         "catch2", "nextest", "go-test", "tap", "google-benchmark",
                                         "criterion", "metrics", "npy", "safetensors"),
                         [](const auto& reader) {
                           std::string name = reader.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
