// `proofhouse policy check FILE`: reads a policy as a server would and says what is wrong with it.
#pragma once

#include <string>

namespace runner::cli {

// How the answer is printed.
enum class PolicyCheckForm : unsigned char {
  text,  // "file:line:column: message", one problem a line; or one line that it holds
  json   // one object {schema:1, file, problems:[{line, column, message}], policy_sha256}
};

// Prints the answer on stdout and why the file could not be read on stderr. Answers the exit
// status: 0 the policy holds; 2 it does not, or the file is missing or over 256 KiB.
int run_policy_check(const std::string& path, PolicyCheckForm form);

}  // namespace runner::cli
