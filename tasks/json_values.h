// JSON values without the JSON library: what json_archive.h is built of. Only json_values.cc sees
// the library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/limits.h"
#include "sandbox/os/ids.h"
#include "sandbox/os/result.h"
#include "sandbox/outcome.h"
#include "tasks/ids.h"

namespace tasks::archive {

using Json = nlohmann::json;

// Specialised for each record and each enum: see json_archive.h.
template <class T>
struct Fields;
template <class E>
struct Words;

template <class T>
concept HasFields = requires { sizeof(Fields<T>); };

// Which of our templates a type is made of.
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;
template <class T>
constexpr bool kIsMap = false;
template <class T>
constexpr bool kIsMap<std::map<std::string, T>> = true;
template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsName = false;
template <class T>
constexpr bool kIsName<os::Name<T>> = true;
template <class T>
constexpr bool kIsObjectId = false;
template <class T>
constexpr bool kIsObjectId<ObjectId<T>> = true;

// One JSON value and all below it.
class Document {
 public:
  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  Json& root() { return *root_; }
  const Json& root() const { return *root_; }
  std::string dump() const;
  // invalid: not JSON, nested over 16 levels, a key twice, invalid UTF-8.
  static os::Result<Document> parse(std::string_view text);

 private:
  std::unique_ptr<Json> root_;
};

// Writing: each sets `out` or answers a new value below it.
void set_text(Json& out, std::string_view text);
void set_integer(Json& out, std::int64_t number);
void set_flag(Json& out, bool flag);
void set_object(Json& out);
void set_list(Json& out);
Json& member(Json& object, std::string_view key);
Json& append(Json& list);
void set_value(Json& out, const sandbox::Outcome& outcome);
void set_value(Json& out, const std::vector<sandbox::LimitHit>& hits);
void set_value(Json& out, const sandbox::Usage& usage);

// Reading: `key` is for messages; each answers invalid for another type of value.
os::Result<std::string> get_text(const Json& in, std::string_view key);
os::Result<std::int64_t> get_integer(const Json& in, std::string_view key);
os::Result<bool> get_flag(const Json& in, std::string_view key);
bool is_null(const Json& in);
os::Result<std::vector<const Json*>> get_list(const Json& in, std::string_view key);
os::Result<std::vector<std::pair<std::string, const Json*>>> get_members(const Json& in,
                                                                         std::string_view key);
os::Result<sandbox::Outcome> get_outcome(const Json& in);
os::Result<std::vector<sandbox::LimitHit>> get_limits_hit(const Json& in);
os::Result<sandbox::Usage> get_usage(const Json& in);
std::unexpected<os::Error> wrong(std::string_view key, std::string_view expected);
std::unexpected<os::Error> wrong_schema(std::int64_t found, int known);

}  // namespace tasks::archive
