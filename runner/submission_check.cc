#include "runner/submission_check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"
#include "tasks/ids.h"

namespace runner {
namespace {

constexpr std::size_t kImprovements = 100;
constexpr std::size_t kTitleLimit = 200;
constexpr std::size_t kClaimTextLimit = 16U << 10U;
constexpr std::size_t kClaims = 1000;
constexpr std::size_t kClaimLimit = 500;
constexpr std::size_t kSteps = 100;

// Each part with its length before it: "3:abc".
void append(std::string& text, std::string_view part) {
  text += std::to_string(part.size()) + ":" + std::string(part);
}

void append(std::string& text, const std::vector<std::string>& parts) {
  text += std::to_string(parts.size()) + "[";
  for (const std::string& part : parts) append(text, part);
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; });
}

Answer<void> check_claims(const tasks::Claims& claims) {
  if (claims.text.size() > kClaimTextLimit)
    return refuse_field("/claims/text", "the text has at most 16 KiB");
  for (const auto& [pointer, tests] :
       {std::pair{"/claims/fixes", &claims.fixes}, std::pair{"/claims/removes", &claims.removes}}) {
    if (tests->size() > kClaims) return refuse_field(pointer, "at most 1000 tests are named");
    for (const std::string& test : *tests) {
      if (test.empty() || test.size() > kClaimLimit || has_control(test))
        return refuse_field(pointer, "a test's id has 1 to 500 characters, none of control");
    }
  }
  if (claims.faster.size() > kImprovements)
    return refuse_field("/claims/faster", "at most 100 improvements are claimed");
  for (const auto& [key, share] : claims.faster) {
    if (key.empty() || key.size() > kClaimLimit || has_control(key))
      return refuse_field("/claims/faster", "a claim names a gate, or a gate/benchmark");
  }
  return {};
}

Answer<void> check_change(const Submission& submission, const Caps& caps) {
  if (submission.patch.size() > caps.patch.count)
    return refuse("too_large", "the patch has more than " + os::format_bytes(caps.patch),
                  "send the objects as a pack and name the commit");
  if (!submission.patch.empty() && !submission.commit.empty())
    return refuse_field("/change", "a change is a patch or a commit, not both");
  if (!submission.commit.empty() && !tasks::CommitId::parse(submission.commit))
    return refuse_field("/change/commit", "a commit is named by its 40 hexadecimal digits");
  if (!submission.pack.empty() && submission.commit.empty())
    return refuse_field("/change/pack", "a pack goes with a commit");
  if (!submission.base.empty() && !tasks::CommitId::parse(submission.base))
    return refuse_field("/base", "a base is named by its 40 hexadecimal digits");
  if (submission.patch.empty() && submission.commit.empty() &&
      submission.intent == tasks::Intent::promote)
    return refuse_field("/change", "there is nothing to promote: give a patch or a commit");
  return {};
}

}  // namespace

Answer<void> check_submission(const Submission& submission, const Caps& caps) {
  if (!os::is_plain_name(submission.project))
    return refuse_field("/project", "a project has a plain name");
  ASK(check_change(submission, caps));
  ASK(check_claims(submission.claims));
  if (submission.title.size() > kTitleLimit || has_control(submission.title))
    return refuse_field("/title", "a title is one line of at most 200 bytes");
  constexpr std::array<std::string_view, 3> kPriorities{"interactive", "normal", "background"};
  if (std::ranges::find(kPriorities, submission.priority) == kPriorities.end())
    return refuse_field("/priority", "a priority is interactive, normal or background");
  if (!submission.family.empty() && !os::is_plain_name(submission.family))
    return refuse_field("/family", "a family has a plain name");
  if (!submission.steps.empty() && submission.intent != tasks::Intent::run)
    return refuse_field("/steps", "steps are named with intent run only");
  if (submission.steps.size() > kSteps) return refuse_field("/steps", "at most 100 steps");
  return {};
}

std::string digest_of(const Submission& submission) {
  std::string text;
  append(text, submission.project);
  append(text, submission.base);
  append(text, submission.patch);
  append(text, submission.commit);
  append(text, submission.pack);
  append(text, tasks::intent_name(submission.intent));
  append(text, submission.steps);
  append(text, submission.title);
  append(text, submission.claims.text);
  append(text, submission.claims.fixes);
  append(text, submission.claims.removes);
  for (const auto& [key, share] : submission.claims.faster) {
    append(text, key);
    append(text, std::to_string(share));
  }
  append(text, submission.priority);
  append(text, submission.family);
  return os::sha256(text).hex();
}

std::unexpected<ServiceError> refused_change(const tasks::Refusal& refusal) {
  ServiceError error;
  error.problem = refusal.code;
  error.detail = refusal.path.empty() ? refusal.detail : refusal.path + ": " + refusal.detail;
  if (!refusal.path.empty()) error.extra["path"] = refusal.path;
  if (refusal.line > 0) error.extra["line"] = std::to_string(refusal.line);
  if (refusal.code == "patch_conflict") {
    error.extra["hunk"] = refusal.detail;
    error.pointer = "/change/patch";
    error.next_step = "make the patch on the project's current tip and send it again";
  } else if (refusal.code == "commit_not_found") {
    error.pointer = "/change/commit";
    error.next_step = "send the objects as a pack and name it in change.pack";
  } else if (refusal.code == "stale_base") {
    error.pointer = "/base";
    error.next_step = "rebase the change on the project's current tip";
  } else {
    error.next_step = "correct the change and send it again";
  }
  return std::unexpected(std::move(error));
}

Answer<void> check_steps(const Submission& submission, const tasks::Policy& policy) {
  for (std::size_t i = 0; i < submission.steps.size(); ++i) {
    if (policy.find_step(tasks::StepName(submission.steps[i])) != nullptr) continue;
    std::string known;
    for (const tasks::Step& step : policy.steps)
      known += (known.empty() ? "" : ", ") + step.name.str();
    return refuse_field("/steps/" + std::to_string(i),
                        "the policy has no step '" + submission.steps[i] + "'; it has " + known);
  }
  return {};
}

}  // namespace runner
