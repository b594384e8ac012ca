// `proofhouse doctor`: what this machine lets a sandbox enforce, and how to mend what is missing.
#pragma once

namespace runner::cli {

// Prints a line for each feature (or one JSON object). Exit status 0, or 1 when something required
// is missing.
int run_doctor(bool json);

}  // namespace runner::cli
