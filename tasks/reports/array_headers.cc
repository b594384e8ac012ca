#include "tasks/reports/array_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr std::size_t kMaxNpyHeader = 64U << 10U;
constexpr std::size_t kMaxSafetensorsHeader = 16U << 20U;
constexpr std::size_t kMaxAxes = 32;  // NumPy 1 allows as many
constexpr std::uint64_t kMaxArrayBytes = 1ULL << 62U;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

os::Result<std::string> read_text(const ByteSource& source, std::uint64_t offset,
                                  std::size_t size) {
  std::string text(size, '\0');
  TRY(source.read(offset, text));
  return text;
}

// The Python literal of a .npy header: a dictionary of strings, True or False and a tuple of whole
// numbers. Nothing of it is evaluated.
class PythonLiteral {
 public:
  explicit PythonLiteral(std::string_view text) : text_(text) {}

  bool take(char expected) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  std::optional<std::string> string() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    if (word.contains('\\')) return std::nullopt;
    at_ = end + 1;
    return std::string(word);
  }
  std::optional<bool> boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true},
                                      std::pair<std::string_view, bool>{"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    return std::nullopt;
  }
  std::optional<std::int64_t> integer() {
    skip_space();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    // NumPy of Python 2 wrote 3L.
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  std::string_view text_;
  std::size_t at_ = 0;
};

struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> is_fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

os::Error broken(std::string_view why) {
  return {os::Code::invalid, fmt::format("its header: {}", why), 0};
}

os::Result<std::vector<std::int64_t>> read_tuple(PythonLiteral& literal) {
  std::vector<std::int64_t> shape;
  if (!literal.take('(')) return std::unexpected(broken("the shape is no tuple"));
  while (!literal.take(')')) {
    const std::optional<std::int64_t> extent = literal.integer();
    if (!extent || shape.size() == kMaxAxes)
      return std::unexpected(broken("the shape is no tuple of at most 32 whole numbers"));
    shape.push_back(*extent);
    if (literal.take(',')) continue;
    if (!literal.take(')')) return std::unexpected(broken("the shape does not end"));
    break;
  }
  return shape;
}

os::Result<void> read_entry(PythonLiteral& literal, NpyHeader& header) {
  const std::optional<std::string> key = literal.string();
  if (!key || !literal.take(':')) return std::unexpected(broken("expected a key"));
  if (*key == "descr" && !header.descr) {
    header.descr = literal.string();
    if (!header.descr)
      return std::unexpected(broken("'descr' is no simple type: records are not read"));
  } else if (*key == "fortran_order" && !header.is_fortran_order) {
    header.is_fortran_order = literal.boolean();
    if (!header.is_fortran_order)
      return std::unexpected(broken("'fortran_order' is neither True nor False"));
  } else if (*key == "shape" && !header.shape) {
    header.shape = TRY(read_tuple(literal));
  } else {
    return std::unexpected(
        broken(fmt::format("key '{}' is unknown or stands twice", clean_text(*key, 40))));
  }
  return {};
}

os::Result<NpyHeader> parse_npy_header(std::string_view text) {
  PythonLiteral literal(text);
  NpyHeader header;
  if (!literal.take('{')) return std::unexpected(broken("it is no dictionary"));
  while (!literal.take('}')) {
    TRY(read_entry(literal, header));
    if (literal.take(',')) continue;
    if (!literal.take('}')) return std::unexpected(broken("the dictionary does not end"));
    break;
  }
  if (!literal.at_end()) return std::unexpected(broken("something follows the dictionary"));
  if (!header.descr || !header.is_fortran_order || !header.shape)
    return std::unexpected(broken("it lacks descr, fortran_order or shape"));
  return header;
}

// "<f4", ">i8", "|b1" (numpy.dtype.str).
os::Result<void> apply_descr(const std::string& descr, ArrayLayout& layout) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 12> kTypes{
      {{"b1", ElementType::boolean},
       {"i1", ElementType::i8},
       {"i2", ElementType::i16},
       {"i4", ElementType::i32},
       {"i8", ElementType::i64},
       {"u1", ElementType::u8},
       {"u2", ElementType::u16},
       {"u4", ElementType::u32},
       {"u8", ElementType::u64},
       {"f2", ElementType::f16},
       {"f4", ElementType::f32},
       {"f8", ElementType::f64}}};
  const std::string shown = clean_text(descr, 40);
  if (descr.size() > 1 && descr[1] == 'O')
    return os::fail(os::Code::invalid, "it holds pickled objects, which are never read");
  const auto found =
      std::ranges::find(kTypes, std::string_view(descr).substr(descr.empty() ? 0 : 1),
                        &std::pair<std::string_view, ElementType>::first);
  const char order = descr.empty() ? '\0' : descr.front();
  const bool is_order = order == '<' || order == '>' || order == '|';
  if (found == kTypes.end() || !is_order)
    return os::fail(os::Code::invalid, fmt::format("its type '{}' is not read", shown));
  layout.type = found->second;
  if (order == '|' && element_size(layout.type) > 1)
    return os::fail(os::Code::invalid, fmt::format("its type '{}' has no byte order", shown));
  layout.is_big_endian = order == '>';
  return {};
}

std::optional<ElementType> safetensors_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 13> kTypes{
      {{"BOOL", ElementType::boolean},
       {"I8", ElementType::i8},
       {"I16", ElementType::i16},
       {"I32", ElementType::i32},
       {"I64", ElementType::i64},
       {"U8", ElementType::u8},
       {"U16", ElementType::u16},
       {"U32", ElementType::u32},
       {"U64", ElementType::u64},
       {"F16", ElementType::f16},
       {"BF16", ElementType::bf16},
       {"F32", ElementType::f32},
       {"F64", ElementType::f64}}};
  for (const auto& [word, type] : kTypes)
    if (word == name) return type;
  return std::nullopt;
}

std::vector<std::int64_t> read_numbers(JsonScanner& scanner) {
  std::vector<std::int64_t> numbers;
  if (!scanner.enter('[')) return numbers;
  while (scanner.next_item()) {
    const std::optional<std::int64_t> number = scanner.integer();
    if (!number || *number < 0 || numbers.size() == kMaxAxes) {
      scanner.fail("expected at most 32 whole numbers from 0 on");
      break;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

struct RawTensor {
  std::string type;
  std::optional<std::vector<std::int64_t>> shape;
  std::vector<std::int64_t> offsets;
};

RawTensor read_tensor(JsonScanner& scanner) {
  RawTensor tensor;
  std::string key;
  if (!scanner.enter('{')) return tensor;
  while (scanner.next_key(key)) {
    if (key == "dtype")
      tensor.type = scanner.string();
    else if (key == "shape")
      tensor.shape = read_numbers(scanner);
    else if (key == "data_offsets")
      tensor.offsets = read_numbers(scanner);
    else
      scanner.fail("unknown key '" + clean_text(key, 40) + "'");
  }
  return tensor;
}

os::Result<ArrayLayout> layout_of(std::string name, const RawTensor& raw, std::uint64_t data) {
  ArrayLayout layout;
  layout.name = std::move(name);
  const auto fail = [&layout](std::string_view why) {
    return os::fail(os::Code::invalid, fmt::format("tensor '{}': {}", layout.name, why));
  };
  const std::optional<ElementType> type = safetensors_type(raw.type);
  if (!type) return fail(fmt::format("its type '{}' is not read", clean_text(raw.type, 40)));
  layout.type = *type;
  if (!raw.shape || raw.offsets.size() != 2) return fail("it lacks shape or data_offsets");
  layout.shape = *raw.shape;
  const os::Result<std::uint64_t> elements = count_elements(layout.shape, layout.type);
  if (!elements) return fail(elements.error().message);
  layout.elements = *elements;
  const auto begin = static_cast<std::uint64_t>(raw.offsets[0]);
  const auto end = static_cast<std::uint64_t>(raw.offsets[1]);
  if (end < begin || end - begin != layout.bytes())
    return fail("its data_offsets do not fit its shape");
  layout.offset = data + begin;
  return layout;
}

}  // namespace

os::Result<std::uint64_t> count_elements(const std::vector<std::int64_t>& shape, ElementType type) {
  std::uint64_t count = 1;
  const std::uint64_t most = kMaxArrayBytes / element_size(type);
  if (shape.size() > kMaxAxes) return os::fail(os::Code::invalid, "it has over 32 axes");
  for (const std::int64_t extent : shape) {
    if (extent < 0) return os::fail(os::Code::invalid, "its shape has a negative number");
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && count > most / factor)
      return os::fail(os::Code::invalid, "its shape is of more than 2^62 bytes");
    count *= factor;
  }
  return count;
}

os::Result<ArrayLayout> read_npy_header(const ByteSource& source) {
  constexpr std::size_t kBegin = 8;  // magic and version
  if (source.size() < kBegin + 2) return os::fail(os::Code::invalid, "too short for a .npy file");
  const std::string begin = TRY(read_text(source, 0, kBegin));
  if (!begin.starts_with(kNpyMagic)) return os::fail(os::Code::invalid, "not a .npy file");
  const int version = begin[6];
  if (version < 1 || version > 3)
    return os::fail(os::Code::invalid, fmt::format("version {} of .npy is not read", version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (source.size() < kBegin + width)
    return os::fail(os::Code::invalid, "too short for a .npy file");
  const std::uint64_t length = little_endian(TRY(read_text(source, kBegin, width)));
  if (length > kMaxNpyHeader || length > source.size() - kBegin - width)
    return os::fail(os::Code::invalid, "its header is over 64 KiB or longer than the file");
  const std::string text = TRY(read_text(source, kBegin + width, length));
  const NpyHeader header = TRY(parse_npy_header(text));
  ArrayLayout layout;
  TRY(apply_descr(*header.descr, layout));
  layout.shape = *header.shape;
  layout.is_fortran_order = *header.is_fortran_order;
  layout.elements = TRY(count_elements(layout.shape, layout.type));
  layout.offset = kBegin + width + length;
  return layout;
}

os::Result<std::uint64_t> read_safetensors_header(const ByteSource& source,
                                                  std::vector<ArrayLayout>& layouts) {
  constexpr std::size_t kBegin = 8;
  if (source.size() < kBegin) return os::fail(os::Code::invalid, "too short for safetensors");
  const std::uint64_t length = little_endian(TRY(read_text(source, 0, kBegin)));
  if (length > kMaxSafetensorsHeader || length > source.size() - kBegin)
    return os::fail(os::Code::invalid, "its header is over 16 MiB or longer than the file");
  const std::string text = TRY(read_text(source, kBegin, length));
  const std::uint64_t data = kBegin + length;
  JsonScanner scanner(text);
  std::string key;
  if (scanner.enter('{')) {
    while (scanner.next_key(key)) {
      if (key == "__metadata__") {
        scanner.skip();
        continue;
      }
      const RawTensor raw = read_tensor(scanner);
      if (scanner.failed()) break;
      if (layouts.size() == kMaxArrays || key.size() > kMaxId) {
        scanner.fail("over 10,000 tensors, or a name over 1024 bytes");
        break;
      }
      layouts.push_back(TRY(layout_of(clean_text(key, kMaxId), raw, data)));
    }
  }
  scanner.finish();
  if (scanner.failed()) return std::unexpected(broken(scanner.error()));
  return data;
}

}  // namespace tasks::reports
