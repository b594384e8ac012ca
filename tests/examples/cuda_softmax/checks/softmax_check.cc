// Compares softmax_rows with a reference in double precision over shapes of real models.
//
//   softmax_check REPORT
//
// REPORT gets one TAP test a shape. Ends with 0 if all passed, 1 if one failed, 77 where there
// is no CUDA device (then REPORT says that everything was skipped).
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "softmax.h"

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr double kRelative = 1e-5;     // expf's 2 ulp, the rounding of the argument, the sum
constexpr double kAbsolute = 1e-30;    // below it a float's own spacing counts
constexpr std::size_t kMargin = 1024;  // floats before and after the output that must not change

enum class Fill { kLogits, kShifted, kCausal, kMaskedRows, kBroken };

struct Case {
  const char* name;
  std::int64_t rows;
  std::int64_t columns;
  Fill fill;
};

constexpr Case kCases[] = {
    {"vocabulary of one token 1x32000", 1, 32000, Fill::kLogits},
    {"vocabulary of a batch 128x50257", 128, 50257, Fill::kShifted},
    {"causal attention 4096x4096", 4096, 4096, Fill::kCausal},
    {"many short rows 100000x64", 100000, 64, Fill::kLogits},
    {"odd columns 7x1023", 7, 1023, Fill::kLogits},
    {"one more than a block 5x1025", 5, 1025, Fill::kShifted},
    {"single column 33x1", 33, 1, Fill::kLogits},
    {"fewer columns than a warp 19x17", 19, 17, Fill::kLogits},
    {"wholly masked rows 64x257", 64, 257, Fill::kMaskedRows},
    {"wholly masked rows 64x256", 64, 256, Fill::kMaskedRows},
    {"rows with NaN or +inf 12x100", 12, 100, Fill::kBroken},
};

std::vector<float> make_input(const Case& shape) {
  std::mt19937_64 random(0x50f7);
  std::normal_distribution<float> logit(0, 4);
  std::vector<float> cells(shape.rows * shape.columns);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    float* const line = &cells[row * shape.columns];
    const float shift = shape.fill == Fill::kShifted ? (row % 2 == 0 ? 1e4F : -1e4F) : 0;
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      const bool is_masked = (shape.fill == Fill::kCausal && column > row) ||
                             (shape.fill == Fill::kMaskedRows && row % 2 == 0);
      line[column] = is_masked ? kMasked : logit(random) + shift;
    }
    if (shape.fill == Fill::kBroken && row % 3 != 0) {
      line[row % shape.columns] = row % 3 == 1 ? NAN : -kMasked;
    }
  }
  return cells;
}

/// The same definition as softmax.h, in double precision and without any trick.
std::vector<double> reference_row(const float* line, std::int64_t columns) {
  double largest = kMasked;
  bool is_broken = false;
  for (std::int64_t i = 0; i < columns; ++i) {
    is_broken = is_broken || std::isnan(line[i]) || line[i] == -kMasked;
    largest = std::fmax(largest, line[i]);
  }
  if (is_broken || std::isinf(largest)) {
    return std::vector<double>(columns, is_broken ? NAN : 0);
  }
  std::vector<double> quotients(columns);
  double sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    quotients[i] = std::exp(line[i] - largest);
    sum += quotients[i];
  }
  for (double& quotient : quotients) {
    quotient /= sum;
  }
  return quotients;
}

bool is_close(double reference, float got) {
  if (std::isnan(reference)) {
    return std::isnan(got);
  }
  return std::fabs(got - reference) <= kRelative * reference + kAbsolute;
}

/// Empty if right, else the first difference.
std::string compare(const Case& shape, const std::vector<float>& in, const float* out) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const auto reference = reference_row(&in[row * shape.columns], shape.columns);
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      const float got = out[row * shape.columns + column];
      if (!is_close(reference[column], got)) {
        char text[160];
        std::snprintf(text, sizeof text, "row %lld, column %lld: expected %.9g, got %.9g",
                      static_cast<long long>(row), static_cast<long long>(column),
                      reference[column], static_cast<double>(got));
        return text;
      }
    }
  }
  return "";
}

struct DeviceFree {
  void operator()(float* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<float, DeviceFree>;

DeviceMemory allocate(std::size_t floats) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, floats * sizeof(float)) != cudaSuccess) {
    return nullptr;
  }
  return DeviceMemory(static_cast<float*>(memory));
}

/// Runs `in` through the device into `out`, which has a margin of NaN on either side.
cudaError_t run(const Case& shape, const std::vector<float>& in, std::vector<float>& out) {
  const DeviceMemory device_in = allocate(in.size());
  const DeviceMemory device_out = allocate(out.size());
  if (!device_in || !device_out) {
    return cudaErrorMemoryAllocation;
  }
  const std::size_t in_bytes = in.size() * sizeof(float);
  const std::size_t out_bytes = out.size() * sizeof(float);
  cudaMemcpy(device_in.get(), in.data(), in_bytes, cudaMemcpyHostToDevice);
  cudaMemset(device_out.get(), 0xff, out_bytes);
  const cudaError_t launched =
      softmax_rows(device_in.get(), device_out.get() + kMargin, shape.rows, shape.columns, nullptr);
  if (launched != cudaSuccess) {
    return launched;
  }
  return cudaMemcpy(out.data(), device_out.get(), out_bytes, cudaMemcpyDeviceToHost);
}

std::string check(const Case& shape) {
  const std::vector<float> in = make_input(shape);
  std::vector<float> out(in.size() + 2 * kMargin);
  if (const cudaError_t error = run(shape, in, out); error != cudaSuccess) {
    return cudaGetErrorString(error);
  }
  for (std::size_t i = 0; i < kMargin; ++i) {
    if (!std::isnan(out[i]) || !std::isnan(out[kMargin + in.size() + i])) {
      return "wrote outside of the output";
    }
  }
  return compare(shape, in, out.data() + kMargin);
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* report = argc == 2 ? std::fopen(argv[1], "w") : nullptr;
  if (report == nullptr) {
    std::fprintf(stderr, "usage: softmax_check REPORT\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(report, "TAP version 13\n1..0 # SKIP no CUDA device\n");
    std::fclose(report);
    std::fprintf(stderr, "skipped: no CUDA device\n");
    return 77;
  }
  std::fprintf(report, "TAP version 13\n1..%zu\n", std::size(kCases));
  int number = 0;
  int failed = 0;
  for (const Case& shape : kCases) {
    const std::string difference = check(shape);
    ++number;
    failed += difference.empty() ? 0 : 1;
    std::fprintf(report, "%s %d - %s\n", difference.empty() ? "ok" : "not ok", number, shape.name);
    if (!difference.empty()) {
      std::fprintf(report, "  ---\n  message: '%s'\n  ...\n", difference.c_str());
      std::fprintf(stderr, "%s: %s\n", shape.name, difference.c_str());
    }
  }
  return std::fclose(report) == 0 && failed == 0 ? 0 : 1;
}
