// Checks of a submission that need nothing but itself.
#pragma once

#include <string>

#include "runner/answer.h"
#include "runner/config.h"
#include "tasks/change.h"
#include "tasks/policy.h"

namespace runner {

// invalid_field or too_large, naming the field.
Answer<void> check_submission(const Submission& submission, const Caps& caps);

// SHA-256 of all of it, in a form in which no two submissions are the same text.
std::string digest_of(const Submission& submission);

// The problem for a change that ingest refused: its code, the path, the line and the hunk.
std::unexpected<ServiceError> refused_change(const tasks::Refusal& refusal);

// The asked steps are steps of the policy.
Answer<void> check_steps(const Submission& submission, const tasks::Policy& policy);

}  // namespace runner
