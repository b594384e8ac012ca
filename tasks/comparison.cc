#include "tasks/comparison.h"

#include "tasks/comparison_json.h"

namespace tasks {

std::string comparison_to_json(const Comparison& comparison) {
  return archive::write_record(comparison);
}

os::Result<Comparison> comparison_from_json(std::string_view json) {
  constexpr std::size_t kMost = 4U << 20U;
  if (json.size() > kMost) return os::fail(os::Code::invalid, "comparison: over 4 MiB");
  return archive::read_record<Comparison>(json, "comparison");
}

std::string parity_output_to_json(const ParityOutput& output) {
  return archive::write_record(output);
}

os::Result<ParityOutput> parity_output_from_json(std::string_view json) {
  return archive::read_record<ParityOutput>(json, "parity");
}

}  // namespace tasks
