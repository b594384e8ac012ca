#include "runner/cli/proof_answers.h"

#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The objects of a list that is a member of the server's answer.
os::Result<std::vector<json>> objects_of(std::string_view text, const char* name) {
  const json object = TRY(sandbox::parse_json(text));
  std::vector<json> objects;
  if (!object.is_object() || !object.contains(name) || !object[name].is_array())
    return os::fail(os::Code::corrupt, "the server's answer is not understood");
  for (const json& each : object[name])
    if (each.is_object()) objects.push_back(each);
  return objects;
}

}  // namespace

os::Result<std::string> read_key(std::string_view text) {
  const std::vector<json> keys = TRY(objects_of(text, "keys"));
  if (keys.empty()) return os::fail(os::Code::corrupt, "the server names no key");
  return text_of(keys.front(), "pem");
}

os::Result<std::vector<TokenAnswer>> read_tokens(std::string_view text) {
  std::vector<TokenAnswer> tokens;
  for (const json& each : TRY(objects_of(text, "tokens")))
    tokens.push_back({.id = text_of(each, "id"),
                      .principal = text_of(each, "principal"),
                      .minted_by = text_of(each, "minted_by"),
                      .expires_at = text_of(each, "expires_at"),
                      .revoked_at = text_of(each, "revoked_at"),
                      .last_used_at = text_of(each, "last_used_at")});
  return tokens;
}

std::string attested_json(const std::string& commit, const Attested& attested) {
  json mismatches = json::array();
  for (const Mismatch& mismatch : attested.mismatches)
    mismatches.push_back({{"statement", mismatch.statement},
                          {"field", mismatch.field},
                          {"detail", mismatch.detail}});
  return sandbox::dump_json(json{{"schema", 1},
                                 {"commit", commit},
                                 {"holds", attested.mismatches.empty()},
                                 {"task", attested.task},
                                 {"project", attested.project},
                                 {"target", attested.target},
                                 {"builder", attested.builder},
                                 {"assurance", attested.assurance},
                                 {"approvals", attested.approvals},
                                 {"overrides", attested.overrides},
                                 {"self_approved", attested.self_approved},
                                 {"mismatches", mismatches}});
}

}  // namespace runner::cli
