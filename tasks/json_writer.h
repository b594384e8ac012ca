// The writing half of json_archive.h.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

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
  // A member that older records of a type do not have.
  template <class T>
  void added(const char* key, const T& value) {
    (*this)(key, value);
  }
  // The format number of a record; `oldest` is for reading.
  void schema(int number, int /*oldest*/ = 0) { set_integer(member(out_, "schema"), number); }

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

}  // namespace tasks::archive
