#include "tasks/reports/array_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tasks/reports/array_headers.h"

namespace tasks::reports {
namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<TypeFacts, 13> kTypeFacts{{{"bool", 1},
                                                {"int8", 1},
                                                {"int16", 2},
                                                {"int32", 4},
                                                {"int64", 8},
                                                {"uint8", 1},
                                                {"uint16", 2},
                                                {"uint32", 4},
                                                {"uint64", 8},
                                                {"float16", 2},
                                                {"bfloat16", 2},
                                                {"float32", 4},
                                                {"float64", 8}}};

constexpr std::size_t kChunk = 32'768;

// IEEE 754 half precision.
double half_value(std::uint64_t bits) {
  const int exponent = static_cast<int>((bits >> 10U) & 0x1FU);
  const auto fraction = static_cast<double>(bits & 0x3FFU);
  double value = 0;
  if (exponent == 31)
    value = fraction == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000U) != 0 ? -value : value;
}

double real_of(ElementType type, std::uint64_t bits) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
    case ElementType::u16:
    case ElementType::u32:
    case ElementType::u64:
      return static_cast<double>(bits);
    case ElementType::i8:
      return static_cast<std::int8_t>(bits);
    case ElementType::i16:
      return static_cast<std::int16_t>(bits);
    case ElementType::i32:
      return static_cast<std::int32_t>(bits);
    case ElementType::i64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ElementType::f16:
      return half_value(bits);
    case ElementType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16U));
    case ElementType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ElementType::f64:
      return std::bit_cast<double>(bits);
  }
  return 0;
}

std::uint64_t bits_of(const char* bytes, std::size_t size, bool is_big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t shift = 8 * (is_big_endian ? size - 1 - i : i);
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << shift;
  }
  return bits;
}

std::string bracketed(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

// Every byte after the header belongs to one array: no overlap, no gap, nothing left over.
os::Result<void> check_cover(const std::vector<ArrayLayout>& layouts, std::uint64_t begin,
                             std::uint64_t end) {
  std::uint64_t at = begin;
  for (const ArrayLayout& layout : layouts) {
    if (layout.offset != at)
      return os::fail(os::Code::invalid,
                      fmt::format("the data of '{}' begins at byte {}, not at {}", layout.name,
                                  layout.offset, at));
    // No header asks for more than 2^62 bytes (see array_headers.h).
    at += layout.bytes();
  }
  if (at != end)
    return os::fail(os::Code::invalid,
                    fmt::format("its arrays end at byte {}, the file at {}", at, end));
  return {};
}

}  // namespace

std::string_view element_type_name(ElementType type) {
  return kTypeFacts.at(static_cast<std::size_t>(type)).name;
}

std::size_t element_size(ElementType type) {
  return kTypeFacts.at(static_cast<std::size_t>(type)).size;
}

bool is_floating(ElementType type) { return type >= ElementType::f16; }

os::Result<void> MemorySource::read(std::uint64_t offset, std::span<char> out) const {
  if (offset > text_.size() || out.size() > text_.size() - offset)
    return os::fail(os::Code::invalid, "the file ends too early");
  std::copy_n(text_.data() + offset, out.size(), out.data());
  return {};
}

os::Result<FileSource> FileSource::of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return os::fail_errno("stat array file");
  if (!S_ISREG(info.st_mode)) return os::fail(os::Code::invalid, "it is no plain file");
  return FileSource(fd, static_cast<std::uint64_t>(info.st_size));
}

os::Result<void> FileSource::read(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::fail_errno("read array file");
    if (got == 0) return os::fail(os::Code::invalid, "the file ends too early");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

std::string ArrayLayout::shape_text() const { return bracketed(shape); }

std::string ArrayLayout::index_text(std::uint64_t element) const {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = is_fortran_order ? i : shape.size() - 1 - i;
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
    index[axis] = static_cast<std::int64_t>(element % extent);
    element /= extent;
  }
  return bracketed(index);
}

ArrayFormat guess_format(const ByteSource& source) {
  std::array<char, 6> magic{};
  const bool has_magic = source.size() >= magic.size() && source.read(0, magic).has_value();
  return has_magic && std::string_view(magic.data(), magic.size()) == kNpyMagic
             ? ArrayFormat::npy
             : ArrayFormat::safetensors;
}

os::Result<std::vector<ArrayLayout>> read_layout(ArrayFormat format, const ByteSource& source) {
  std::vector<ArrayLayout> layouts;
  std::uint64_t begin = 0;
  if (format == ArrayFormat::npy) {
    layouts.push_back(TRY(read_npy_header(source)));
    begin = layouts.front().offset;
  } else {
    begin = TRY(read_safetensors_header(source, layouts));
  }
  std::ranges::sort(layouts, [](const ArrayLayout& left, const ArrayLayout& right) {
    return std::pair(left.offset, left.bytes()) < std::pair(right.offset, right.bytes());
  });
  TRY(check_cover(layouts, begin, source.size()));
  return layouts;
}

os::Result<std::span<const Element>> ElementStream::next() {
  const std::size_t size = element_size(layout_.type);
  const std::size_t count = std::min<std::uint64_t>(kChunk, layout_.elements - done_);
  raw_.resize(count * size);
  elements_.resize(count);
  TRY(source_.read(layout_.offset + done_ * size, raw_));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = bits_of(raw_.data() + i * size, size, layout_.is_big_endian);
    elements_[i] = {real_of(layout_.type, bits), bits};
  }
  done_ += count;
  return std::span<const Element>(elements_);
}

std::string element_text(ElementType type, const Element& element) {
  switch (type) {
    case ElementType::f64:
      return fmt::format("{}", element.real);
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::f32:
      return fmt::format("{}", static_cast<float>(element.real));
    case ElementType::i64:
      return std::to_string(static_cast<std::int64_t>(element.bits));
    case ElementType::boolean:
    case ElementType::u8:
    case ElementType::u16:
    case ElementType::u32:
    case ElementType::u64:
      return std::to_string(element.bits);
    case ElementType::i8:
    case ElementType::i16:
    case ElementType::i32:
      return std::to_string(static_cast<std::int64_t>(element.real));
  }
  return {};
}

std::uint64_t ulp_distance(ElementType type, std::uint64_t left_bits, std::uint64_t right_bits) {
  const std::uint64_t sign = 1ULL << (8 * element_size(type) - 1);
  // Magnitudes on one side of zero lie on one line; on different sides they add up.
  const std::uint64_t left = left_bits & ~sign;
  const std::uint64_t right = right_bits & ~sign;
  if ((left_bits & sign) != (right_bits & sign)) return left + right;
  return left > right ? left - right : right - left;
}

}  // namespace tasks::reports
