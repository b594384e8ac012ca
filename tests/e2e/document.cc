#include "tests/e2e/document.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tests {

using nlohmann::json;

Document::Document(std::string_view text)
    : json_(std::make_shared<const json>(json::parse(text, nullptr, false))) {}

const json* Document::look(const std::string& pointer) const {
  if (json_->is_discarded()) return nullptr;
  const json::json_pointer place(pointer);
  return json_->contains(place) ? &json_->at(place) : nullptr;
}

std::string Document::at(const std::string& pointer) const {
  const json* const value = look(pointer);
  if (value == nullptr || value->is_null()) return {};
  return value->is_string() ? value->get<std::string>() : value->dump();
}

long Document::number(const std::string& pointer) const {
  const json* const value = look(pointer);
  return value != nullptr && value->is_number_integer() ? value->get<long>() : -1;
}

std::size_t Document::size(const std::string& pointer) const {
  const json* const value = look(pointer);
  return value != nullptr && value->is_structured() ? value->size() : 0;
}

bool Document::has(const std::string& pointer) const {
  const json* const value = look(pointer);
  return value != nullptr && !value->is_null();
}

std::vector<std::string> Document::texts(const std::string& pointer) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < size(pointer); ++i)
    texts.push_back(at(pointer + "/" + std::to_string(i)));
  return texts;
}

std::string Document::find(const std::string& array, const std::string& key,
                           const std::string& value) const {
  for (std::size_t i = 0; i < size(array); ++i) {
    const std::string element = array + "/" + std::to_string(i);
    if (at(element + "/" + key) == value) return element;
  }
  return array + "/none";
}

std::string TaskBody::json() const {
  nlohmann::json body{{"project", project}, {"intent", intent}};
  const auto put = [](nlohmann::json& object, const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  nlohmann::json change = nlohmann::json::object();
  put(change, "patch", patch);
  put(change, "commit", commit);
  put(change, "pack", pack);
  if (!change.empty()) body["change"] = change;
  put(body, "base", base);
  put(body, "title", title);
  if (!steps.empty()) body["steps"] = steps;
  if (!fixes.empty()) body["claims"]["fixes"] = fixes;
  if (!removes.empty()) body["claims"]["removes"] = removes;
  return body.dump();
}

std::string object_of(const std::map<std::string, std::string>& members) {
  return nlohmann::json(members).dump();
}

}  // namespace tests
