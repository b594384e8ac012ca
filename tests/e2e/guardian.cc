#include "tests/e2e/guardian.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace tests {
namespace {

// The mark comes by the pipe, so that the guardian does not carry it itself.
constexpr const char* kScript = R"sh(
read -r mark
read -r place
cat > /dev/null
for round in 1 2 3; do
  for file in /proc/[0-9]*/environ; do
    process=${file%/environ}
    if grep -q -- "$mark" "$file" 2> /dev/null; then kill -KILL "${process#/proc/}"; fi
  done
  sleep 0.2
done
rm -rf -- "$place"
)sh";

}  // namespace

os::Result<Guardian> Guardian::watch(const std::string& mark, const std::string& place) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::fail_errno("pipe");
  const os::Fd theirs(ends[0]);
  os::Fd ours(ends[1]);
  os::SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", kScript};
  request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  request.directory = "/";
  request.standard_input = theirs.get();
  request.new_session = true;
  os::ChildProcess child = TRY(os::ChildProcess::spawn(request));
  TRY(os::write_all(ours.get(), mark + "\n" + place + "\n"));
  return Guardian(std::move(ours), std::move(child));
}

}  // namespace tests
