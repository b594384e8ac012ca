#include "runner/cli/policy_check.h"

#include <cstdio>
#include <vector>

#include "runner/cli/exit_code.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/json_archive.h"
#include "tasks/policy_json.h"
#include "tasks/policy_yaml.h"
#include "tasks/reports/text.h"

namespace runner::cli {
namespace {

struct Answer {
  std::string file;
  std::vector<tasks::PolicyProblem> problems;
  std::string policy_sha256;  // empty with problems
};

}  // namespace
}  // namespace runner::cli

namespace tasks::archive {

template <>
struct Fields<PolicyProblem> {
  static void visit(auto& archive, auto& problem) {
    archive("line", problem.line);
    archive("column", problem.column);
    archive("message", problem.message);
  }
};

template <>
struct Fields<runner::cli::Answer> {
  static void visit(auto& archive, auto& answer) {
    archive.schema(1);
    archive("file", answer.file);
    archive("problems", answer.problems);
    archive("policy_sha256", answer.policy_sha256);
  }
};

}  // namespace tasks::archive

namespace runner::cli {
namespace {

void print_lines(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string text_of(const Answer& answer) {
  if (answer.problems.empty())
    return answer.file + ": holds, policy " + answer.policy_sha256 + "\n";
  // Messages quote the file: nothing of it may act on a terminal.
  constexpr std::size_t kMost = 1U << 20U;
  return tasks::reports::clean_text(tasks::format_problems(answer.file, answer.problems), kMost);
}

}  // namespace

int run_policy_check(const std::string& path, PolicyCheckForm form) {
  constexpr std::size_t kMaxBytes = 256U << 10U;
  const os::Result<std::string> text = os::read_file(path, kMaxBytes);
  if (!text) {
    std::fprintf(stderr, "proofhouse: policy %s: %s\n", path.c_str(), text.error().message.c_str());
    return kExitUsage;
  }
  const tasks::PolicyReading reading = tasks::read_policy(*text);
  Answer answer{path, reading.problems, ""};
  if (reading.policy)
    answer.policy_sha256 = os::sha256(tasks::policy_to_json(*reading.policy)).hex();
  print_lines(form == PolicyCheckForm::json ? tasks::archive::write_record(answer) + "\n"
                                            : text_of(answer));
  return answer.problems.empty() ? kExitOk : kExitUsage;
}

}  // namespace runner::cli
