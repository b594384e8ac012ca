// What the guests of the attack suite share: each runs one attack, chosen by its first argument,
// and says in one line how it went: "held WHY" or "REACHED WHAT". They probe and touch nothing but
// what is their own.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace guest {

inline int say(const char* word, std::string_view detail) {
  std::printf("%s %.*s\n", word, static_cast<int>(detail.size()), detail.data());
  std::fflush(stdout);
  return 0;
}

// The attack was refused.
inline int held(std::string_view detail) { return say("held", detail); }

// It got where it should not.
inline int reached(std::string_view detail) { return say("REACHED", detail); }

inline std::string error_name(int number) {
  const char* const name = ::strerrorname_np(number);
  return name != nullptr ? name : std::to_string(number);
}

// What a call that has just returned says: held with the name of errno, or reached.
inline int judge(long result, std::string_view what) {
  return result < 0 ? held(error_name(errno)) : reached(what);
}

// The same for calls whose arguments are wrong on purpose: only EPERM, ENOSYS and EACCES come from
// a guard, any other error is the call's own.
inline int judge_probe(long result) {
  const int number = result < 0 ? errno : 0;
  if (number == EPERM || number == ENOSYS || number == EACCES) return held(error_name(number));
  return reached("the call: " + error_name(number));
}

// The rest of the command line, after the attack's name.
using Arguments = std::span<char* const>;

struct Attack {
  std::string_view name;
  int (*run)(Arguments arguments);
};

inline int run(std::span<const Attack> attacks, int count, char** arguments) {
  for (const Attack& attack : attacks)
    if (count > 1 && attack.name == arguments[1])
      return attack.run(Arguments(arguments, static_cast<std::size_t>(count)).subspan(2));
  std::fprintf(stderr, "no such attack\n");
  return 2;
}

}  // namespace guest
