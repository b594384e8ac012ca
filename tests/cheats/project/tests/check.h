// A test program's few words: CHECK notes a test's result, report() writes them all as TAP.
#pragma once

#include <cstdio>

inline const char* check_names[32];
inline bool check_results[32];
inline int check_count = 0;

inline void check_note(const char* name, bool is_right) {
  check_names[check_count] = name;
  check_results[check_count++] = is_right;
}

#define CHECK(name, condition) check_note(name, condition)

inline int check_report(const char* path) {
  std::FILE* const tap = std::fopen(path, "w");
  if (tap == nullptr) return 2;
  int failed = 0;
  std::fprintf(tap, "TAP version 13\n1..%d\n", check_count);
  for (int i = 0; i < check_count; ++i) {
    failed += check_results[i] ? 0 : 1;
    std::fprintf(tap, "%s %d - %s\n", check_results[i] ? "ok" : "not ok", i + 1, check_names[i]);
  }
  return std::fclose(tap) == 0 && failed == 0 ? 0 : 1;
}
