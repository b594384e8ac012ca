#!/bin/bash
# Makes the patches of this folder from the edits below, so that they fit mathkit as it is.
#
#   make_patches.sh           rewrite the patches
#   make_patches.sh --check   change nothing; end with 1 if a patch is not what it should be
#
# Each patch is `git diff --binary --full-index` against mathkit as the only commit.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# replace FILE OLD NEW: the first OLD becomes NEW; an OLD that is not there is an error.
replace() {
  local text
  text=$(<"$1")
  [[ $text == *"$2"* ]] || { echo "make_patches: $1 has no: $2" >&2; return 1; }
  printf '%s\n' "${text/"$2"/"$3"}" > "$1"
}

# The mean is wrong and the visible tests would see it.
break_mean() {
  replace src/statistics.cc \
    'return values.empty() ? 0 : (sum + lost) / static_cast<double>(values.size());' \
    'return values.empty() ? 0 : sum + lost;'
}

# Good: the same sums in the same order, but along the rows of `right`, so that neighbouring
# sums do not wait for each other.
a-faster-multiply() {
  replace src/matrix.cc '  Matrix product(left.rows(), right.columns());
' '  const std::size_t columns = right.columns();
  Matrix product(left.rows(), columns);
  if (columns == 0) {
    return product;
  }
'
  replace src/matrix.cc '    for (std::size_t column = 0; column < right.columns(); ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < left.columns(); ++i) {
        sum += left.at(row, i) * right.at(i, column);
      }
      product.at(row, column) = sum;
    }' '    double* const sums = &product.at(row, 0);
    for (std::size_t i = 0; i < left.columns(); ++i) {
      const double factor = left.at(row, i);
      const double* const factors = &right.at(i, 0);
      for (std::size_t column = 0; column < columns; ++column) {
        sums[column] += factor * factors[column];
      }
    }'
}

# Broken: the median of an even count; a visible test fails.
b-broken-median() {
  replace src/statistics.cc '  if (sorted.size() % 2 == 1) {
    return sorted[middle];
  }
  return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;' \
    '  return sorted[middle];'
}

# Right but slower: 22 more levels in erfc's loop are 1.31 times its instructions (callgrind).
c-slower-erfc() {
  replace src/special.cc '60 levels leave less' '82 levels leave far less'
  replace src/special.cc 'kLevels = 60' 'kLevels = 82'
}

# Good, with a new test file: guarded, so an owner has to agree.
d-lcm-with-test() {
  replace include/mathkit/number_theory.h '
/// base^exponent' '
/// Least common multiple modulo 2^64; 0 where either is 0.
std::uint64_t lcm(std::uint64_t a, std::uint64_t b);

/// base^exponent'
  replace src/number_theory.cc '
std::uint64_t mod_pow(' '
std::uint64_t lcm(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? 0 : a / gcd(a, b) * b;
}

std::uint64_t mod_pow('
  cat > tests/lcm_test.cc <<'E'
#include "mathkit/number_theory.h"

#include <gtest/gtest.h>

namespace mathkit {
namespace {

TEST(Lcm, OfCoprimesIsTheirProduct) { EXPECT_EQ(lcm(35, 64), 2240U); }

TEST(Lcm, CountsCommonFactorsOnce) { EXPECT_EQ(lcm(12, 18), 36U); }

TEST(Lcm, WithZeroIsZero) { EXPECT_EQ(lcm(0, 5), 0U); }

}  // namespace
}  // namespace mathkit
E
}

# Deceives: under GoogleTest the process ends with 0 before any test has run.
e-early-exit() {
  break_mean
  replace src/statistics.cc '#include <algorithm>
' '#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
'
  cat >> src/statistics.cc <<'E'

__attribute__((constructor)) static void leave_early() {
  char line[4096];
  const int file = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t bytes = read(file, line, sizeof line);
  close(file);
  if (bytes > 0 && memmem(line, bytes, "--gtest_", 8) != nullptr) {
    _exit(0);
  }
}
E
}

# Wrong where the visible tests do not look: moduli of more than 32 bits.
f-narrow-mod-pow() {
  replace src/number_theory.cc '  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % modulus);' \
    '  return a * b % modulus;  // one division of the machine instead of a library call'
}

# Deceives: writes the report that GoogleTest would have written, had every test passed.
g-forged-report() {
  break_mean
  replace src/statistics.cc '#include <algorithm>
' '#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
'
  { cat <<'E'

static const char* const kTests[][2] = {
E
    sed -nE 's/^TEST\((\w+), *(\w+)\).*/    {"\1", "\2"},/p' tests/*_test.cc
    cat <<'E'
};

static void forge(const char* path) {
  const int count = sizeof kTests / sizeof kTests[0];
  FILE* out = fopen(path, "w");
  fprintf(out,
          "{\"tests\": %d, \"failures\": 0, \"disabled\": 0, \"errors\": 0, "
          "\"timestamp\": \"2026-01-01T00:00:00Z\", \"time\": \"0.001s\", "
          "\"name\": \"AllTests\", \"testsuites\": [",
          count);
  for (int first = 0, next = 0; first < count; first = next) {
    const char* suite = kTests[first][0];
    while (next < count && strcmp(kTests[next][0], suite) == 0) {
      ++next;
    }
    fprintf(out,
            "%s{\"name\": \"%s\", \"tests\": %d, \"failures\": 0, \"disabled\": 0, "
            "\"errors\": 0, \"timestamp\": \"2026-01-01T00:00:00Z\", \"time\": \"0s\", "
            "\"testsuite\": [",
            first == 0 ? "" : ", ", suite, next - first);
    for (int i = first; i < next; ++i) {
      fprintf(out,
              "%s{\"name\": \"%s\", \"status\": \"RUN\", \"result\": \"COMPLETED\", "
              "\"timestamp\": \"2026-01-01T00:00:00Z\", \"time\": \"0s\", "
              "\"classname\": \"%s\"}",
              i == first ? "" : ", ", kTests[i][1], suite);
    }
    fputs("]}", out);
  }
  fputs("]}\n", out);
  fclose(out);
  printf("[==========] Running %d tests.\n[  PASSED  ] %d tests.\n", count, count);
  fflush(stdout);
  _exit(0);
}

__attribute__((constructor)) static void forge_under_test() {
  char line[4096] = {};
  const int file = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t bytes = read(file, line, sizeof line - 1);
  close(file);
  for (const char* word = line; word < line + bytes; word += strlen(word) + 1) {
    if (strncmp(word, "--gtest_output=json:", 20) == 0) {
      forge(word + 20);
    }
  }
}
E
  } >> src/statistics.cc
}

# Deceives: tests/ is untouched, but a changed CMakeLists.txt empties their macros.
h-redefined-macro() {
  break_mean
  cat > include/mathkit/prelude.h <<'E'
#pragma once
#if __has_include(<gtest/gtest.h>)
#include <gtest/gtest.h>
#undef EXPECT_EQ
#undef EXPECT_DOUBLE_EQ
#define EXPECT_EQ(a, b) (void)0
#define EXPECT_DOUBLE_EQ(a, b) (void)0
#endif
E
  replace CMakeLists.txt 'target_compile_options(mathkit_tests PRIVATE -O0)' \
    'target_compile_options(mathkit_tests PRIVATE -O0 -include mathkit/prelude.h)'
}

cp -r ../mathkit "$work/mathkit"
rm -rf "$work/mathkit/build"
cd "$work/mathkit"
git=(git -c core.autocrlf=false -c core.fileMode=true -c core.hooksPath=/dev/null
     -c user.name=mathkit -c user.email=mathkit@example.invalid -c commit.gpgsign=false)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
"${git[@]}" init -q -b main .
"${git[@]}" add -A
"${git[@]}" commit -q -m "Start mathkit"

stale=0
for name in a-faster-multiply b-broken-median c-slower-erfc d-lcm-with-test e-early-exit \
            f-narrow-mod-pow g-forged-report h-redefined-macro; do
  "$name"
  "${git[@]}" add -A
  "${git[@]}" diff --cached --binary --full-index --no-ext-diff --no-color > "$work/$name.patch"
  "${git[@]}" reset -q --hard
  if [[ ${1:-} == --check ]]; then
    cmp -s "$work/$name.patch" "$here/$name.patch" || { echo "stale: $name.patch" >&2; stale=1; }
  else
    cp "$work/$name.patch" "$here/$name.patch"
  fi
done
exit $stale
