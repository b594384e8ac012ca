// StepRunner: comparing what two runs left, in the reader's jail.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/files.h"
#include "tasks/comparison.h"
#include "tasks/step_runner.h"

namespace tasks {
namespace {

constexpr os::Bytes kComparedLimit{4ULL << 20U};
// Outputs may be as large as the policy's disk: gigabytes are read twice.
constexpr std::chrono::minutes kCompareWall{10};

// "out/y.npy" → the output's name and the file within it.
std::string output_name(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}
std::string within(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == path.npos ? std::string() : std::string(path.substr(slash));
}

// What `reader` is asked: the same bytes, or arrays within a tolerance.
std::vector<std::string> compare_command(const Gate& gate, const ComparisonKey& key) {
  const std::string left = "/in/left" + within(key.output);
  const std::string right = "/in/right" + within(key.right_output);
  const auto parity = std::ranges::find(gate.parity, key.output, &ParityOutput::path);
  if (gate.kind != GateKind::parity || parity == gate.parity.end())
    return {"/proofhouse/reader", "compare", "identical", left, right};
  return {"/proofhouse/reader", "compare", "close", parity_output_to_json(*parity), left, right};
}

}  // namespace

os::Result<std::optional<Comparison>> StepRunner::compare(const ComparisonKey& key,
                                                          const std::string& left,
                                                          const std::string& right) {
  const Gate* const gate = context_.policy.find_gate(key.gate);
  if (gate == nullptr) return os::fail(os::Code::internal, "no gate " + key.gate.str());
  sandbox::RunRequest request = reader_request(compare_command(*gate, key));
  const auto left_over = std::chrono::duration_cast<std::chrono::milliseconds>(
      context_.deadline - std::chrono::steady_clock::now());
  request.limits.wall =
      std::clamp<std::chrono::milliseconds>(left_over, std::chrono::milliseconds(1), kCompareWall);
  request.limits.keep = os::Bytes{2 * kComparedLimit.count};
  request.limits.output = os::Bytes{2 * kComparedLimit.count};
  request.mounts.push_back(
      {sandbox::MountSource::output, left + "/" + output_name(key.output), "/in/left"});
  request.mounts.push_back(
      {sandbox::MountSource::output, right + "/" + output_name(key.right_output), "/in/right"});
  const sandbox::RunResult result =
      TRY_CONTEXT(context_.jail.run(request, context_.cancel_fd), "compare " + key.output);
  if (result.outcome.kind == sandbox::OutcomeKind::cancelled) return std::optional<Comparison>();
  if (result.outcome.kind == sandbox::OutcomeKind::setup_failed)
    return os::fail(os::Code::unavailable, "reader: " + sandbox::describe(result.outcome));
  Comparison comparison;
  if (!result.outcome.is_success() || result.tail_bytes > 0) {
    comparison.error = "cannot be compared: the reader " + sandbox::describe(result.outcome);
    return std::optional(comparison);
  }
  const std::string json = TRY(os::read_file_at(
      context_.attempt_directory, "runs/" + request.id + "/head", kComparedLimit.count));
  const os::Result<Comparison> read = comparison_from_json(json);
  if (read) return std::optional(*read);
  comparison.error = "cannot be compared: " + read.error().message;
  return std::optional(comparison);
}

}  // namespace tasks
