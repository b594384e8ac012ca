// Self-test: whether the system call filter answers on this kernel as it was written.
#pragma once

#include <string>

#include "sandbox/request.h"

namespace sandbox {

// How many calls the self-test of a profile makes.
int self_test_calls(Profile profile);

// Loads the filter of the profile into the calling process, for good, and makes each call of its
// table with an argument that the kernel refuses: EPERM or ENOSYS tells that the filter stopped it,
// anything else that it got through, and each has exactly one right answer. Nothing is done to the
// machine if the filter does not hold. Returns what answered wrongly, or why the filter could not
// be loaded; empty: all is as it should be. To be called in a child process.
std::string run_self_test(Profile profile);

}  // namespace sandbox
