// Runs the library over a file of cases and writes what it answered; judges nothing.
//
//   mathkit_harness IN OUT
//
// IN/cases.txt    one case a line: "<number> <function> <argument>...". Counts and whole
//                 numbers are decimal, reals are in C's hexadecimal form, so no bit is lost.
// OUT/results.txt one answer a line: "<number> <value>...", in the same forms. OUT is made.
// Ends with 0 once every case is answered, with 2 on a case that it cannot read.
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "mathkit/matrix.h"
#include "mathkit/number_theory.h"
#include "mathkit/special.h"
#include "mathkit/statistics.h"

namespace {

constexpr std::size_t kMaxCount = 4096;

/// One case being read; after a malformed argument ok() is false and values are zero.
class Arguments {
 public:
  explicit Arguments(std::FILE* file) : file_(file) {}

  bool ok() const { return ok_; }

  std::uint64_t whole() {
    std::uint64_t value = 0;
    ok_ = std::fscanf(file_, "%" SCNu64, &value) == 1 && ok_;
    return ok_ ? value : 0;
  }

  double real() {
    double value = 0;
    ok_ = std::fscanf(file_, "%la", &value) == 1 && ok_;
    return ok_ ? value : 0;
  }

  std::size_t count() {
    const std::uint64_t value = whole();
    ok_ = value <= kMaxCount && ok_;
    return ok_ ? value : 0;
  }

  std::vector<double> reals() {
    std::vector<double> values(count());
    for (double& value : values) {
      value = real();
    }
    return values;
  }

  mathkit::Matrix matrix(std::size_t rows, std::size_t columns) {
    mathkit::Matrix cells(rows, columns);
    for (std::size_t i = 0; i < rows * columns; ++i) {
      cells.at(i / columns, i % columns) = real();
    }
    return cells;
  }

 private:
  std::FILE* file_;
  bool ok_ = true;
};

void answer(std::FILE* out, std::uint64_t value) { std::fprintf(out, " %" PRIu64, value); }
void answer(std::FILE* out, double value) { std::fprintf(out, " %a", value); }

void answer_multiply(Arguments& arguments, std::FILE* out) {
  const std::size_t rows = arguments.count();
  const std::size_t inner = arguments.count();
  const std::size_t columns = arguments.count();
  const mathkit::Matrix left = arguments.matrix(rows, inner);
  const mathkit::Matrix right = arguments.matrix(inner, columns);
  const mathkit::Matrix product = mathkit::multiply(left, right);
  for (std::size_t i = 0; i < product.rows() * product.columns(); ++i) {
    answer(out, product.at(i / product.columns(), i % product.columns()));
  }
}

/// Whether `function` is known and its arguments could be read.
bool run_case(const char* function, Arguments& arguments, std::FILE* out) {
  const auto is = [function](const char* name) { return std::strcmp(function, name) == 0; };
  if (is("mean")) {
    answer(out, mathkit::mean(arguments.reals()));
  } else if (is("variance")) {
    answer(out, mathkit::variance(arguments.reals()));
  } else if (is("median")) {
    answer(out, mathkit::median(arguments.reals()));
  } else if (is("gcd")) {
    const std::uint64_t a = arguments.whole();
    answer(out, mathkit::gcd(a, arguments.whole()));
  } else if (is("mod_pow")) {
    const std::uint64_t base = arguments.whole();
    const std::uint64_t exponent = arguments.whole();
    answer(out, mathkit::mod_pow(base, exponent, arguments.whole()));
  } else if (is("is_prime")) {
    answer(out, std::uint64_t{mathkit::is_prime(arguments.whole())});
  } else if (is("erfc")) {
    answer(out, mathkit::erfc(arguments.real()));
  } else if (is("polynomial")) {
    const double x = arguments.real();
    answer(out, mathkit::polynomial(arguments.reals(), x));
  } else if (is("multiply")) {
    answer_multiply(arguments, out);
  } else {
    return false;
  }
  return arguments.ok();
}

int run_all(std::FILE* in, std::FILE* out) {
  unsigned number = 0;
  char function[16];
  while (std::fscanf(in, "%u %15s", &number, function) == 2) {
    std::fprintf(out, "%u", number);
    Arguments arguments(in);
    if (!run_case(function, arguments, out)) {
      std::fprintf(stderr, "case %u (%s) could not be read\n", number, function);
      return 2;
    }
    std::fputc('\n', out);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: mathkit_harness IN OUT\n");
    return 2;
  }
  char path[4096];
  std::snprintf(path, sizeof path, "%s/cases.txt", argv[1]);
  std::FILE* in = std::fopen(path, "r");
  ::mkdir(argv[2], 0777);
  std::snprintf(path, sizeof path, "%s/results.txt", argv[2]);
  std::FILE* out = std::fopen(path, "w");
  if (in == nullptr || out == nullptr) {
    std::fprintf(stderr, "cannot open %s or %s\n", argv[1], argv[2]);
    return 2;
  }
  const int code = run_all(in, out);
  std::fclose(in);
  return std::fclose(out) == 0 ? code : 2;
}
