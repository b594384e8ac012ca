// capability_probe: says what this machine has of what the tests need.
///
//   capability_probe            a line for each capability: name, "ok" or "missing: why"
//   capability_probe a,b,c      one line with the missing ones of these, comma-separated; empty
//                               when all are there
// Exit status 0, or 1 when one of those asked for is missing.

#include <cstdio>
#include <sstream>
#include <string>

#include "tests/support/capability.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const tests::Capability& capability : tests::all_capabilities()) {
      const std::string why = tests::why_missing(capability.name);
      std::printf("%-10s %s\n", std::string(capability.name).c_str(),
                  why.empty() ? "ok" : ("missing: " + why).c_str());
    }
    return 0;
  }
  std::string missing;
  std::istringstream names(argv[1]);
  for (std::string name; std::getline(names, name, ',');) {
    if (!tests::why_missing(name).empty()) missing += (missing.empty() ? "" : ",") + name;
  }
  std::printf("%s\n", missing.c_str());
  return missing.empty() ? 0 : 1;
}
