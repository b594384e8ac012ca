// The entry of libFuzzer: one program a reader, whose format is given by the build.

#include <cstddef>
#include <cstdint>

#include "tests/tasks/fuzz.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto format = tasks::parse_report_format(PROOFHOUSE_FUZZ_FORMAT);
  os::check(format.has_value(), "an unknown format");
  tests::fuzz_reader(*format, {reinterpret_cast<const char*>(data), size});
  return 0;
}
