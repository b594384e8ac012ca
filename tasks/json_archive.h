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

namespace tasks::archive {

template <class T>
void write(Json& out, const T& value);

class Writer {
 public:
  explicit Writer(Json& object) : out_(object) { set_object(out_); }
  template <class T>
  void operator()(const char* key, const T& value) {
    write(member(out_, key), value);
  }
  // The format number of a record.
  void schema(int number) { set_integer(member(out_, "schema"), number); }

 private:
  Json& out_;
};

template <class T>
void write(Json& out, const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    set_text(out, value);
  } else if constexpr (std::same_as<T, bool>) {
    set_flag(out, value);
  } else if constexpr (std::same_as<T, char>) {
    set_text(out, std::string_view(&value, 1));
  } else if constexpr (std::integral<T>) {
    set_integer(out, static_cast<std::int64_t>(value));
  } else if constexpr (std::same_as<T, os::Bytes>) {
    set_integer(out, static_cast<std::int64_t>(value.count));
  } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
    set_integer(out, value.count());
  } else if constexpr (std::is_enum_v<T>) {
    set_text(out, Words<T>::kAll.at(static_cast<std::size_t>(value)));
  } else if constexpr (kIsName<T>) {
    set_text(out, value.str());
  } else if constexpr (kIsObjectId<T>) {
    set_text(out, value.hex());
  } else if constexpr (kIsOptional<T>) {
    // A value not set stays null.
    if (value) write(out, *value);
  } else if constexpr (HasFields<T>) {
    Writer writer(out);
    Fields<T>::visit(writer, value);
  } else if constexpr (kIsMap<T>) {
    set_object(out);
    for (const auto& [key, entry] : value) write(member(out, key), entry);
  } else if constexpr (requires { set_value(out, value); }) {
    set_value(out, value);
  } else {
    static_assert(kIsList<T>);
    set_list(out);
    for (const auto& entry : value) write(append(out), entry);
  }
}

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
  void schema(int known);
  // invalid unless every member was asked for and read.
  os::Result<void> finish() const;

 private:
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
