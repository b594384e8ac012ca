#include "tests/soak/random_guest.h"

#include "tests/bench/bench_jail.h"

namespace soak {
namespace {

using std::chrono::milliseconds;

int draw(std::mt19937_64& random, int least, int most) {
  return std::uniform_int_distribution(least, most)(random);
}

Guest make(const std::string& program, const std::vector<std::string>& arguments,
           std::string ending) {
  Guest guest{bench::BenchJail::empty_request(), std::move(ending), milliseconds(0)};
  guest.request.command = {"/proofhouse/" + program};
  guest.request.command.insert(guest.request.command.end(), arguments.begin(), arguments.end());
  guest.request.limits.wall = milliseconds(60'000);
  return guest;
}

Guest killed_guest(std::mt19937_64& random) {
  switch (draw(random, 0, 2)) {
    case 0: {
      Guest guest = make("hog_memory", {"256"}, "killed (memory)");
      guest.request.limits.memory = os::Bytes{24U << 20U};
      return guest;
    }
    case 1: {
      Guest guest = make("ignore_signals", {}, "timed out (wall)");
      guest.request.limits.wall = milliseconds(draw(random, 1, 100));
      return guest;
    }
    default: {
      Guest guest = make("print_forever", {}, "killed (output)");
      guest.request.limits.output = os::Bytes{64U << 10U};
      return guest;
    }
  }
}

Guest ending_guest(std::mt19937_64& random) {
  const std::string code = std::to_string(draw(random, 0, 99));
  switch (draw(random, 0, 6)) {
    case 0:
      return make("end_with", {"signal", "11"}, "killed by signal 11");
    case 1:
      return make("print_bytes", {std::to_string(draw(random, 0, 300'000))}, "exited with 0");
    case 2:
      return make("orphan", {}, "exited with 0");
    case 3: {
      Guest guest = make("fill_disk", {}, "exited with 0");
      guest.request.limits.disk = os::Bytes{1U << 20U};
      return guest;
    }
    case 4: {
      Guest guest = make("end_with", {"code", code}, "exited with " + code);
      guest.request.separate_error_output = true;
      return guest;
    }
    default:
      return make("end_with", {"code", code}, "exited with " + code);
  }
}

}  // namespace

Guest lasting_guest() { return make("ignore_signals", {}, {}); }

Guest random_guest(std::mt19937_64& random) {
  const int fate = draw(random, 1, 100);
  if (fate <= 10) return killed_guest(random);
  if (fate > 15) return ending_guest(random);
  Guest guest = make("ignore_signals", {}, "cancelled");
  guest.cancel_after = milliseconds(draw(random, 1, 60));
  return guest;
}

}  // namespace soak
