#include "tasks/json_values.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace tasks::archive {
namespace {

constexpr int kMaxDepth = 16;

// Nesting over kMaxDepth is found before the parser builds anything of it.
bool is_shallow(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '[' || c == '{') && ++depth > kMaxDepth) return false;
    if (c == ']' || c == '}') --depth;
  }
  return true;
}

}  // namespace

Document::Document() : root_(std::make_unique<Json>()) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

std::string Document::dump() const { return sandbox::dump_json(*root_); }

os::Result<Document> Document::parse(std::string_view text) {
  if (!is_shallow(text)) return os::fail(os::Code::invalid, "JSON is nested over 16 levels");
  Document document;
  document.root() = TRY(sandbox::parse_json(text, kMaxDepth));
  return document;
}

void set_text(Json& out, std::string_view text) { out = text; }
void set_integer(Json& out, std::int64_t number) { out = number; }
void set_flag(Json& out, bool flag) { out = flag; }
void set_object(Json& out) { out = Json::object(); }
void set_list(Json& out) { out = Json::array(); }
Json& member(Json& object, std::string_view key) { return object[std::string(key)]; }
Json& append(Json& list) { return list.emplace_back(); }
void set_value(Json& out, const sandbox::Outcome& outcome) { out = sandbox::to_json(outcome); }
void set_value(Json& out, const std::vector<sandbox::LimitHit>& hits) {
  out = sandbox::to_json(hits);
}
void set_value(Json& out, const sandbox::Usage& usage) { out = sandbox::to_json(usage); }

std::unexpected<os::Error> wrong(std::string_view key, std::string_view expected) {
  std::string message = "'";
  message.append(key).append("' is not ").append(expected);
  return os::fail(os::Code::invalid, std::move(message));
}

std::unexpected<os::Error> wrong_schema(std::int64_t found, int known) {
  std::string message = "schema " + std::to_string(found);
  message += found > known ? " is newer than this program, which knows "
                           : " is none that this program reads; it knows ";
  return os::fail(os::Code::invalid, message + std::to_string(known));
}

os::Result<std::string> get_text(const Json& in, std::string_view key) {
  if (!in.is_string()) return wrong(key, "a string");
  return in.get_ref<const std::string&>();
}

os::Result<std::int64_t> get_integer(const Json& in, std::string_view key) {
  if (!in.is_number_integer()) return wrong(key, "an integer");
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (in.is_number_unsigned() && in.get<std::uint64_t>() > kMost) return wrong(key, "in range");
  return in.get<std::int64_t>();
}

os::Result<bool> get_flag(const Json& in, std::string_view key) {
  if (!in.is_boolean()) return wrong(key, "true or false");
  return in.get<bool>();
}

bool is_null(const Json& in) { return in.is_null(); }

os::Result<std::vector<const Json*>> get_list(const Json& in, std::string_view key) {
  if (!in.is_array()) return wrong(key, "a list");
  std::vector<const Json*> list;
  list.reserve(in.size());
  for (const Json& entry : in) list.push_back(&entry);
  return list;
}

os::Result<std::vector<std::pair<std::string, const Json*>>> get_members(const Json& in,
                                                                         std::string_view key) {
  if (!in.is_object()) return wrong(key, "an object");
  std::vector<std::pair<std::string, const Json*>> members;
  members.reserve(in.size());
  for (const auto& [name, value] : in.items()) members.emplace_back(name, &value);
  return members;
}

os::Result<sandbox::Outcome> get_outcome(const Json& in) { return sandbox::outcome_from_json(in); }

os::Result<std::vector<sandbox::LimitHit>> get_limits_hit(const Json& in) {
  return sandbox::limits_hit_from_json(in);
}

os::Result<sandbox::Usage> get_usage(const Json& in) { return sandbox::usage_from_json(in); }

}  // namespace tasks::archive
