// Files that hold arrays of numbers: NumPy's .npy and safetensors. Their headers are hostile bytes;
// what they point to is read in pieces, so that a file may be larger than the reader's memory.
// Pickles are never read: an array of objects is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"

namespace tasks::reports {

// Bytes of a file or of memory, by position.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset` on; both must lie within size(), else invalid.
  virtual os::Result<void> read(std::uint64_t offset, std::span<char> out) const = 0;
};

// The text outlives it.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view text) : text_(text) {}
  std::uint64_t size() const override { return text_.size(); }
  os::Result<void> read(std::uint64_t offset, std::span<char> out) const override;

 private:
  std::string_view text_;
};

// A plain file, open for reading; the descriptor is borrowed.
class FileSource : public ByteSource {
 public:
  // invalid if it is no plain file.
  static os::Result<FileSource> of(int fd);
  std::uint64_t size() const override { return size_; }
  os::Result<void> read(std::uint64_t offset, std::span<char> out) const override;

 private:
  FileSource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  int fd_;
  std::uint64_t size_;
};

enum class ElementType : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64
};
// "bool", "int8" … "uint64", "float16", "bfloat16", "float32", "float64".
std::string_view element_type_name(ElementType type);
std::size_t element_size(ElementType type);
bool is_floating(ElementType type);

// Where one array lies in its file.
struct ArrayLayout {
  std::string name;  // of the tensor; empty in .npy
  ElementType type = ElementType::f64;
  std::vector<std::int64_t> shape;
  bool is_fortran_order = false;  // the first index changes fastest
  bool is_big_endian = false;
  std::uint64_t offset = 0;  // of the first element, in bytes
  std::uint64_t elements = 0;

  std::uint64_t bytes() const { return elements * element_size(type); }
  std::string shape_text() const;  // "[3, 4]"
  // "[1, 2]" of the element that stands at that place in the file.
  std::string index_text(std::uint64_t element) const;
};

inline constexpr std::size_t kMaxArrays = 10'000;

enum class ArrayFormat : std::uint8_t { npy, safetensors };

// The arrays of a file, in the order in which they lie in it. invalid, naming the place: not such a
// file, objects, an unknown type, sizes that do not fit the file, overlaps or bytes that belong to
// no array.
os::Result<std::vector<ArrayLayout>> read_layout(ArrayFormat format, const ByteSource& source);
// npy by its first bytes, else safetensors.
ArrayFormat guess_format(const ByteSource& source);

// One element.
struct Element {
  double real = 0;         // its value; whole numbers over 2^53 are rounded
  std::uint64_t bits = 0;  // its bits, least significant first
};

// Reads an array's elements front to back, in the file's order.
class ElementStream {
 public:
  // Both outlive it.
  ElementStream(const ByteSource& source, const ArrayLayout& layout)
      : source_(source), layout_(layout) {}
  // The next up to 32,768 elements; empty at the end. Valid until the next call.
  os::Result<std::span<const Element>> next();

 private:
  const ByteSource& source_;
  const ArrayLayout& layout_;
  std::uint64_t done_ = 0;
  std::vector<char> raw_;
  std::vector<Element> elements_;
};

// The element for a person: "0.1", "-3", "nan".
std::string element_text(ElementType type, const Element& element);
// How many representable numbers lie between two of a floating type; 0 for +0 and -0.
std::uint64_t ulp_distance(ElementType type, std::uint64_t left_bits, std::uint64_t right_bits);

}  // namespace tasks::reports
