// What a fuzzer does with one input.
#pragma once

#include <string_view>

#include "tasks/policy.h"

namespace tests {

// Reads `bytes` as that format, writes the answer's JSON and reads it back. Aborts if the answer is
// not what reader and attempt rely on: readable JSON of at most 16 MiB, no cases beside an error.
void fuzz_reader(tasks::ReportFormat format, std::string_view bytes);

}  // namespace tests
