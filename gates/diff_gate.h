// The diff gate: how much a change may change, and which files it may not bring. Needs no run.
#pragma once

#include "gates/verdict.h"
#include "tasks/change.h"
#include "tasks/policy.h"

namespace gates {

// Judges `gate` (kind diff). Lines are added plus removed ones of text files; a glob of `forbid`
// without '/' is matched against the file's name too, as in .gitignore, on old and new path; a file
// that the change deletes is not forbidden.
GateResult judge_diff(const tasks::Gate& gate, const tasks::Diff& diff);

}  // namespace gates
