#include "runner/store/record_json.h"

#include <cstdint>
#include <map>

#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace runner::store {
namespace {

using nlohmann::json;

// Our own columns; more than this was not written by us.
constexpr std::size_t kColumnLimit = 4U << 20U;

os::Result<json> parse(std::string_view text) {
  if (text.size() > kColumnLimit) return os::fail(os::Code::corrupt, "a column is too long");
  return sandbox::parse_json(text);
}

os::Result<std::vector<std::string>> strings_of(const json& value) {
  if (!value.is_array()) return os::fail(os::Code::corrupt, "a column holds no list");
  std::vector<std::string> strings;
  for (const json& item : value) {
    if (!item.is_string()) return os::fail(os::Code::corrupt, "a column holds no list of strings");
    strings.push_back(item.get_ref<const std::string&>());
  }
  return strings;
}

os::Result<std::map<std::string, std::int64_t>> integers_of(const json& value) {
  if (!value.is_object()) return os::fail(os::Code::corrupt, "a column holds no object");
  std::map<std::string, std::int64_t> integers;
  for (const auto& [name, item] : value.items()) {
    if (!item.is_number_integer())
      return os::fail(os::Code::corrupt, "a column holds no object of integers");
    integers[name] = item.get<std::int64_t>();
  }
  return integers;
}

}  // namespace

std::string claims_to_json(const tasks::Claims& claims) {
  return sandbox::dump_json(json{{"schema", 2},
                                 {"text", claims.text},
                                 {"fixes", claims.fixes},
                                 {"removes", claims.removes},
                                 {"faster", claims.faster}});
}

os::Result<tasks::Claims> claims_from_json(std::string_view text) {
  const json value = TRY(parse(text));
  // Format 1 had no improvements.
  const bool is_first =
      value.is_object() && value.size() == 4 && value.value("schema", json()) == 1;
  const bool is_second = value.is_object() && value.size() == 5 &&
                         value.value("schema", json()) == 2 && value.contains("faster");
  if (!(is_first || is_second) || !value.contains("text") || !value["text"].is_string() ||
      !value.contains("fixes") || !value.contains("removes"))
    return os::fail(os::Code::corrupt, "a column does not hold claims");
  return tasks::Claims{.text = value["text"].get_ref<const std::string&>(),
                       .fixes = TRY(strings_of(value["fixes"])),
                       .removes = TRY(strings_of(value["removes"])),
                       .faster = is_second ? TRY(integers_of(value["faster"]))
                                           : std::map<std::string, std::int64_t>{}};
}

std::string strings_to_json(const std::vector<std::string>& strings) {
  return sandbox::dump_json(json(strings));
}

os::Result<std::vector<std::string>> strings_from_json(std::string_view text) {
  return strings_of(TRY(parse(text)));
}

std::string object_json(const std::vector<std::pair<std::string, std::string>>& members) {
  json value = json::object();
  for (const auto& [name, text] : members) value[name] = text;
  return sandbox::dump_json(value);
}

}  // namespace runner::store
