// JsonArchive: our records to and from JSON, both directions from one list of members a type.
//
// Fields<T>::visit(archive, object) calls archive("key", object.member) for each member; Words<E>
// lists the words of an enum in its order. write_record and read_record do the rest: keys sorted,
// unknown, missing and duplicate keys refused.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/json_values.h"
#include "tasks/json_writer.h"

namespace tasks::archive {

template <class T>
os::Result<T> read(const Json& in, std::string_view key);

// Reads the members of one object; keeps the first error.
class Reader {
 public:
  explicit Reader(std::vector<std::pair<std::string, const Json*>> members)
      : left_(std::move(members)) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if (error_) return;
    const Json* const found = take(key);
    if (found == nullptr) return;
    os::Result<T> got = read<T>(*found, key);
    if (got)
      value = std::move(*got);
    else
      error_ = std::move(got).error();
  }
  // As above; where it is missing `value` stays as it is.
  template <class T>
  void added(const char* key, T& value) {
    if (!error_ && has(key)) (*this)(key, value);
  }
  // Numbers from `oldest` (0: only `known`) to `known` are read.
  void schema(int known, int oldest = 0);
  // invalid unless every member was asked for and read.
  os::Result<void> finish() const;

 private:
  bool has(std::string_view key) const;
  const Json* take(std::string_view key);
  std::vector<std::pair<std::string, const Json*>> left_;
  std::optional<os::Error> error_;
};

template <class T>
os::Result<T> read_number(const Json& in, std::string_view key) {
  const std::int64_t number = TRY(get_integer(in, key));
  if (!std::in_range<T>(number)) return wrong(key, "in range");
  return static_cast<T>(number);
}

template <class E>
os::Result<E> parse_word(std::string_view word, std::string_view what) {
  const auto& words = Words<E>::kAll;
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<E>(found - words.begin());
  std::string allowed;
  for (const std::string_view each : words)
    allowed.append(allowed.empty() ? "" : ", ").append(each);
  return wrong(what, "one of " + allowed);
}

template <class T>
os::Result<T> read_fields(const Json& in, std::string_view key) {
  Reader reader(TRY(get_members(in, key)));
  T value;
  Fields<T>::visit(reader, value);
  TRY_CONTEXT(reader.finish(), key);
  return value;
}

template <class T>
os::Result<T> read(const Json& in, std::string_view key) {
  if constexpr (std::same_as<T, std::string>) {
    return get_text(in, key);
  } else if constexpr (std::same_as<T, bool>) {
    return get_flag(in, key);
  } else if constexpr (std::same_as<T, char>) {
    const std::string text = TRY(get_text(in, key));
    if (text.size() != 1) return wrong(key, "one character");
    return text.front();
  } else if constexpr (std::integral<T>) {
    return read_number<T>(in, key);
  } else if constexpr (std::same_as<T, os::Bytes>) {
    return os::Bytes{TRY(read_number<std::uint64_t>(in, key))};
  } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
    return std::chrono::milliseconds(TRY(get_integer(in, key)));
  } else if constexpr (std::is_enum_v<T>) {
    return parse_word<T>(TRY(get_text(in, key)), key);
  } else if constexpr (kIsName<T>) {
    return T(TRY(get_text(in, key)));
  } else if constexpr (kIsObjectId<T>) {
    const std::string hex = TRY(get_text(in, key));
    if (hex.empty()) return T();
    return T::parse(hex);
  } else if constexpr (kIsOptional<T>) {
    if (is_null(in)) return T();
    return T(TRY(read<typename T::value_type>(in, key)));
  } else if constexpr (std::same_as<T, sandbox::Outcome>) {
    return get_outcome(in);
  } else if constexpr (std::same_as<T, std::vector<sandbox::LimitHit>>) {
    return get_limits_hit(in);
  } else if constexpr (std::same_as<T, sandbox::Usage>) {
    return get_usage(in);
  } else if constexpr (HasFields<T>) {
    return read_fields<T>(in, key);
  } else if constexpr (kIsMap<T>) {
    T map;
    for (const auto& [name, entry] : TRY(get_members(in, key)))
      map.emplace(name, TRY(read<typename T::mapped_type>(*entry, name)));
    return map;
  } else {
    static_assert(kIsList<T>);
    T list;
    for (const Json* const entry : TRY(get_list(in, key)))
      list.push_back(TRY(read<typename T::value_type>(*entry, key)));
    return list;
  }
}

// The canonical JSON of a record.
template <class T>
std::string write_record(const T& value) {
  Document document;
  write(document.root(), value);
  return document.dump();
}

// A record from its JSON; invalid with what is wrong, `name` first.
template <class T>
os::Result<T> read_record(std::string_view json, std::string_view name) {
  const Document document = TRY_CONTEXT(Document::parse(json), name);
  return read<T>(document.root(), name);
}

}  // namespace tasks::archive
