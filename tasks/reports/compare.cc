#include "tasks/reports/compare.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr std::size_t kCompareChunk = 1U << 18U;
constexpr std::size_t kShownWord = 40;
constexpr std::size_t kMaxOutputFiles = 100'000;

// Bytes around a place, for people.
os::Result<std::string> excerpt(const ByteSource& source, std::uint64_t offset) {
  if (offset >= source.size()) return std::string("the end of the file");
  const std::uint64_t begin = offset > kShownWord ? offset - kShownWord : 0;
  std::string text(std::min<std::uint64_t>(2 * kShownWord, source.size() - begin), '\0');
  TRY(source.read(begin, text));
  const bool is_text = std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\t' || c == '\r';
  });
  const std::size_t at = offset - begin;
  if (!is_text) {
    std::string hex;
    for (const char c : std::string_view(text).substr(at, 8))
      hex += fmt::format("{}{:02x}", hex.empty() ? "" : " ", static_cast<unsigned char>(c));
    return "bytes " + hex;
  }
  // The word in which they differ: a number changes its meaning with its first digits.
  constexpr std::string_view kBreaks = " \t\r\n,;:=[](){}\"";
  const std::size_t from = at == 0 ? 0 : text.find_last_of(kBreaks, at - 1) + 1;
  const std::size_t to = std::min(text.find_first_of(kBreaks, at), text.size());
  const std::string word = clean_text(text.substr(from, to - from), kShownWord);
  return word.empty() ? clean_text(text.substr(at, 1), kShownWord) : word;
}

os::Result<std::optional<std::uint64_t>> first_offset(const ByteSource& left,
                                                      const ByteSource& right) {
  const std::uint64_t common = std::min(left.size(), right.size());
  std::vector<char> one(kCompareChunk);
  std::vector<char> other(kCompareChunk);
  for (std::uint64_t at = 0; at < common; at += kCompareChunk) {
    const std::size_t count = std::min<std::uint64_t>(kCompareChunk, common - at);
    TRY(left.read(at, std::span(one).first(count)));
    TRY(right.read(at, std::span(other).first(count)));
    const auto [place, same] =
        std::mismatch(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(count), other.begin());
    if (place != one.begin() + static_cast<std::ptrdiff_t>(count))
      return std::optional(at + static_cast<std::uint64_t>(place - one.begin()));
  }
  if (left.size() != right.size()) return std::optional(common);
  return std::optional<std::uint64_t>();
}

os::Result<std::string> element_at(const ByteSource& source, const ArrayLayout& layout,
                                   std::uint64_t element) {
  ArrayLayout one = layout;
  one.offset += element * element_size(layout.type);
  one.elements = 1;
  ElementStream stream(source, one);
  return element_text(layout.type, TRY(stream.next()).front());
}

// Names the element, if both are array files of one layout there.
os::Result<void> name_element(const ByteSource& left, const ByteSource& right, Divergence& first) {
  const ArrayFormat format = guess_format(left);
  if (guess_format(right) != format) return {};
  const os::Result<std::vector<ArrayLayout>> one = read_layout(format, left);
  const os::Result<std::vector<ArrayLayout>> other = read_layout(format, right);
  if (!one || !other || one->empty()) return {};
  const auto offset = static_cast<std::uint64_t>(first.offset);
  if (offset < one->front().offset) {
    first.what = "differs in the header";
    first.left = one->front().shape_text();
    first.right = other->empty() ? "no array" : other->front().shape_text();
    return {};
  }
  for (std::size_t i = 0; i < one->size() && i < other->size(); ++i) {
    const ArrayLayout& layout = (*one)[i];
    if (offset < layout.offset || offset >= layout.offset + layout.bytes()) continue;
    const ArrayLayout& same = (*other)[i];
    if (same.offset != layout.offset || same.type != layout.type || same.shape != layout.shape)
      return {};
    const std::uint64_t element = (offset - layout.offset) / element_size(layout.type);
    first.tensor = layout.name;
    first.index = layout.index_text(element);
    first.left = TRY(element_at(left, layout, element));
    first.right = TRY(element_at(right, same, element));
  }
  return {};
}

// Paths of the plain files below a directory; anything else there is an error.
os::Result<void> list_files(const os::Fd& directory, const std::string& prefix,
                            std::set<std::string>& files) {
  const os::Fd again = TRY(os::open_beneath(directory.get(), ".", O_RDONLY | O_DIRECTORY));
  os::Fd listed = TRY(again.duplicate());
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(listed.get()), ::closedir);
  if (stream == nullptr) return os::fail_errno("list output");
  listed.release();
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (prefix.size() > 4000 || files.size() >= kMaxOutputFiles)
      return os::fail(os::Code::exhausted, "too many files, or too deep");
    const os::Fd inner =
        TRY(os::open_beneath(directory.get(), name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    struct stat info{};
    if (::fstat(inner.get(), &info) != 0) return os::fail_errno("stat output");
    if (S_ISDIR(info.st_mode))
      TRY(list_files(inner, prefix + name + "/", files));
    else if (S_ISREG(info.st_mode))
      files.insert(prefix + name);
    else
      return os::fail(os::Code::invalid, "something in it is no plain file");
  }
  return {};
}

os::Result<std::optional<Divergence>> compare_files(const os::Fd& left, const os::Fd& right) {
  const FileSource one = TRY(FileSource::of(left.get()));
  const FileSource other = TRY(FileSource::of(right.get()));
  return first_difference(one, other);
}

os::Result<std::optional<Divergence>> compare_directories(const os::Fd& left, const os::Fd& right) {
  std::set<std::string> one;
  std::set<std::string> other;
  TRY(list_files(left, "", one));
  TRY(list_files(right, "", other));
  std::set<std::string> all = one;
  all.insert(other.begin(), other.end());
  for (const std::string& file : all) {
    std::optional<Divergence> first;
    if (!one.contains(file) || !other.contains(file)) {
      first.emplace();
      first->what = one.contains(file) ? "is only in the first" : "is only in the second";
    } else {
      const os::Fd a = TRY(os::open_beneath(left.get(), file, O_RDONLY | O_NONBLOCK));
      const os::Fd b = TRY(os::open_beneath(right.get(), file, O_RDONLY | O_NONBLOCK));
      first = TRY(compare_files(a, b));
    }
    if (!first) continue;
    first->file = clean_text(file, kMaxFileName);
    return first;
  }
  return std::optional<Divergence>();
}

os::Result<std::optional<Divergence>> compare_outputs(const std::string& left,
                                                      const std::string& right) {
  const os::Fd one = TRY(os::open_file(left, O_RDONLY | O_NONBLOCK));
  const os::Fd other = TRY(os::open_file(right, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  struct stat same{};
  if (::fstat(one.get(), &info) != 0 || ::fstat(other.get(), &same) != 0)
    return os::fail_errno("stat output");
  if (S_ISDIR(info.st_mode) != S_ISDIR(same.st_mode))
    return os::fail(os::Code::invalid, "one is a file, the other a directory");
  return S_ISDIR(info.st_mode) ? compare_directories(one, other) : compare_files(one, other);
}

}  // namespace

os::Result<std::optional<Divergence>> first_difference(const ByteSource& left,
                                                       const ByteSource& right) {
  const std::optional<std::uint64_t> offset = TRY(first_offset(left, right));
  if (!offset) return std::optional<Divergence>();
  Divergence first;
  first.offset = static_cast<std::int64_t>(*offset);
  first.what = "differs";
  first.left = TRY(excerpt(left, *offset));
  first.right = TRY(excerpt(right, *offset));
  TRY(name_element(left, right, first));
  return std::optional(first);
}

Comparison compare_identical(const std::string& left, const std::string& right) {
  Comparison comparison;
  os::Result<std::optional<Divergence>> first = compare_outputs(left, right);
  if (!first) {
    comparison.error = clean_text(first.error().message, kMaxMessage);
  } else {
    comparison.is_same = !first->has_value();
    comparison.first = std::move(*first);
  }
  return comparison;
}

}  // namespace tasks::reports
