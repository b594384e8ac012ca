#include "runner/attest/verify.h"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "runner/attest/dsse.h"
#include "runner/attest/names.h"
#include "sandbox/os/digest.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLines = 16;

// One statement of the bundle.
struct Statement {
  std::string name;
  json value;
  std::string payload_sha256;
};

std::string name_of(const std::string& predicate_type) {
  if (predicate_type == kProvenance) return "provenance";
  if (predicate_type == kTestResult) return "test_result";
  if (predicate_type == kVerificationSummary) return "verification_summary";
  return {};
}

// The text at a JSON pointer; empty where there is none.
std::string text_at(const json& value, const std::string& pointer) {
  const json::json_pointer place(pointer);
  if (!value.contains(place) || !value.at(place).is_string()) return {};
  return value.at(place).get<std::string>();
}

// The element of a list of resource descriptors that has the name.
json named(const json& value, const std::string& list, const std::string& name) {
  const json::json_pointer place(list);
  if (!value.contains(place) || !value.at(place).is_array()) return json::object();
  for (const json& each : value.at(place))
    if (each.is_object() && each.value("name", json()) == name) return each;
  return json::object();
}

class Verifier {
 public:
  Verifier(const os::PublicKey& key, const VerifyOrder& order, CloneView& clone)
      : key_(key), order_(order), clone_(clone) {}

  Attested run(std::string_view bundle) {
    read(bundle);
    for (const auto name : {"provenance", "test_result", "verification_summary"})
      if (!statements_.contains(name)) wrong(name, "predicateType", "the statement is missing");
    for (const auto& [name, statement] : statements_) check_subject(statement);
    check_provenance();
    check_policy();
    check_test_result();
    check_summary();
    tell();
    return std::move(attested_);
  }

 private:
  void wrong(std::string statement, std::string field, std::string detail) {
    attested_.mismatches.push_back({std::move(statement), std::move(field), std::move(detail)});
  }
  // `said` of a field has to be `known`.
  void match(const std::string& statement, const std::string& field, const std::string& said,
             const std::string& known) {
    if (said != known)
      wrong(statement, field,
            "says " + (said.empty() ? "nothing" : said) + ", it is " +
                (known.empty() ? "nothing" : known));
  }
  const json& of(const std::string& name) const {
    static const json kNone = json::object();
    const auto found = statements_.find(name);
    return found == statements_.end() ? kNone : found->second.value;
  }

  void read(std::string_view bundle);
  void read_line(const std::string& place, std::string_view line);
  void check_subject(const Statement& statement);
  void check_provenance();
  void check_policy();
  void check_test_result();
  void check_summary();
  void check_levels(const json& receipt);
  void tell();

  const os::PublicKey& key_;
  const VerifyOrder& order_;
  CloneView& clone_;
  std::map<std::string, Statement> statements_;
  std::string policy_sha256_;  // of the policy file, as provenance says
  Attested attested_;
};

void Verifier::read(std::string_view bundle) {
  std::size_t number = 0;
  while (!bundle.empty()) {
    const std::size_t end = std::min(bundle.find('\n'), bundle.size());
    const std::string_view line = bundle.substr(0, end);
    bundle.remove_prefix(std::min(end + 1, bundle.size()));
    if (line.empty()) continue;
    if (++number > kMostLines) return wrong("bundle", "lines", "there are too many");
    read_line("line " + std::to_string(number), line);
  }
}

void Verifier::read_line(const std::string& place, std::string_view line) {
  const os::Result<Envelope> envelope = parse_envelope(line);
  if (!envelope) return wrong(place, "envelope", envelope.error().message);
  const os::Result<json> value = sandbox::parse_json(envelope->payload);
  std::string name = place;
  if (value && value->is_object()) name = name_of(text_at(*value, "/predicateType"));
  const bool is_known = !name.empty() && name != place;
  if (name.empty()) name = place;
  match(name, "payloadType", envelope->payload_type, std::string(kStatementType));
  if (const auto made = check_signature(*envelope, key_); !made)
    wrong(name, envelope->key_id == key_.id() ? "signatures[0].sig" : "signatures[0].keyid",
          made.error().message);
  if (!value || !value->is_object()) return wrong(name, "payload", "it is no JSON object");
  match(name, "_type", text_at(*value, "/_type"), std::string(kStatement));
  if (!is_known) return wrong(name, "predicateType", "it is none of the three that are ours");
  if (statements_.contains(name)) return wrong(name, "predicateType", "it stands there twice");
  statements_.insert({name, {name, *value, os::sha256(envelope->payload).hex()}});
}

void Verifier::check_subject(const Statement& statement) {
  const json subject = statement.value.value("subject", json());
  if (!subject.is_array() || subject.size() != 1)
    return wrong(statement.name, "subject", "there is not exactly one");
  match(statement.name, "subject[0].digest.gitCommit",
        text_at(statement.value, "/subject/0/digest/gitCommit"), order_.commit);
  const os::Result<std::string> tree = clone_.tree_of(order_.commit);
  if (!tree)
    return wrong(statement.name, "subject[0].digest.gitCommit",
                 "the clone has it not: " + tree.error().message);
  match(statement.name, "subject[0].digest.gitTree",
        text_at(statement.value, "/subject/0/digest/gitTree"), *tree);
}

void Verifier::check_provenance() {
  const json& value = of("provenance");
  const std::string definition = "/predicate/buildDefinition";
  const std::string name = "provenance";
  match(name, "predicate.buildDefinition.buildType", text_at(value, definition + "/buildType"),
        std::string(kBuildType));
  static constexpr std::array<std::string_view, 7> kParameters{
      "project", "target", "base", "commit", "intent", "claims", "principal"};
  const json::json_pointer parameters(definition + "/externalParameters");
  if (value.contains(parameters) && value.at(parameters).is_object()) {
    for (const auto& [key, each] : value.at(parameters).items())
      if (std::ranges::find(kParameters, key) == kParameters.end())
        wrong(name, "predicate.buildDefinition.externalParameters." + key, "it is not known here");
  }
  match(name, "predicate.buildDefinition.externalParameters.commit",
        text_at(value, definition + "/externalParameters/commit"), order_.commit);
  attested_.base = text_at(value, definition + "/externalParameters/base");
  match(name, "predicate.buildDefinition.resolvedDependencies[base].digest.gitCommit",
        text_at(named(value, definition + "/resolvedDependencies", "base"), "/digest/gitCommit"),
        attested_.base);
  const os::Result<bool> follows = clone_.descends(order_.commit, attested_.base);
  if (!follows || !*follows)
    wrong(name, "predicate.buildDefinition.externalParameters.base",
          "the commit does not descend from " + attested_.base + " in this clone");
  match(name, "predicate.runDetails.builder.id", text_at(value, "/predicate/runDetails/builder/id"),
        builder_id(text_at(value, definition + "/internalParameters/sandbox_level")));
}

void Verifier::check_policy() {
  const json policy =
      named(of("provenance"), "/predicate/buildDefinition/resolvedDependencies", "policy");
  const std::string field = "predicate.buildDefinition.resolvedDependencies[policy].digest";
  policy_sha256_ = text_at(policy, "/digest/sha256");
  if (order_.policy_sha256)
    match("provenance", field + ".sha256", policy_sha256_, *order_.policy_sha256);
  const std::string blob = text_at(policy, "/digest/gitBlob");
  if (blob.empty()) {
    if (!order_.policy_sha256)
      wrong("provenance", field, "the server held the policy: give its file (--policy)");
    return;
  }
  const os::Result<PolicyFileId> file = clone_.policy_of(attested_.base);
  if (!file) return wrong("provenance", field, file.error().message);
  match("provenance", field + ".gitBlob", blob, file->blob);
  match("provenance", field + ".sha256", policy_sha256_, file->sha256);
}

void Verifier::check_test_result() {
  match("test_result", "predicate.configuration[0].digest.sha256",
        text_at(of("test_result"), "/predicate/configuration/0/digest/sha256"), policy_sha256_);
}

void Verifier::check_summary() {
  const std::string name = "verification_summary";
  const json& value = of(name);
  match(name, "predicate.policy.digest.sha256", text_at(value, "/predicate/policy/digest/sha256"),
        policy_sha256_);
  match(name, "predicate.verificationResult", text_at(value, "/predicate/verificationResult"),
        "PASSED");
  std::size_t place = 0;
  for (const auto input : {"provenance", "test_result"}) {
    const auto found = statements_.find(input);
    if (found != statements_.end())
      match(name, "predicate.inputAttestations[" + std::to_string(place) + "].digest.sha256",
            text_at(value,
                    "/predicate/inputAttestations/" + std::to_string(place) + "/digest/sha256"),
            found->second.payload_sha256);
    ++place;
  }
  const json receipt = value.value(json::json_pointer("/predicate/proofhouse_receipt"), json());
  const std::string at = "predicate.proofhouse_receipt.";
  match(name, at + "new", text_at(receipt, "/new"), order_.commit);
  match(name, at + "old", text_at(receipt, "/old"), attested_.base);
  if (const os::Result<std::string> tree = clone_.tree_of(order_.commit))
    match(name, at + "tree", text_at(receipt, "/tree"), *tree);
  const std::string products = "/predicate/runDetails/byproducts";
  const json& provenance = of("provenance");
  const auto product = [&](const char* which) {
    return text_at(named(provenance, products, which), "/digest/sha256");
  };
  match(name, at + "evidence_sha256", text_at(receipt, "/evidence_sha256"), product("evidence"));
  match(name, at + "policy_sha256", text_at(receipt, "/policy_sha256"), product("resolved policy"));
  match(name, at + "diff_digest", text_at(receipt, "/diff_digest"), product("diff"));
  check_levels(receipt);
}

void Verifier::check_levels(const json& receipt) {
  const json overridden = receipt.is_object() ? receipt.value("overridden", json()) : json();
  Achieved achieved{.level = text_at(receipt, "/sandbox_level"),
                    .assurance = text_at(receipt, "/assurance"),
                    .is_overridden = overridden.is_array() && !overridden.empty()};
  match("verification_summary", "predicate.proofhouse_receipt.sandbox_level", achieved.level,
        text_at(of("provenance"), "/predicate/buildDefinition/internalParameters/sandbox_level"));
  const json levels =
      of("verification_summary").value(json::json_pointer("/predicate/verifiedLevels"), json());
  if (levels != json(verified_levels(achieved)))
    wrong("verification_summary", "predicate.verifiedLevels",
          "says " + sandbox::dump_json(levels) + ", the receipt makes it " +
              sandbox::dump_json(json(verified_levels(achieved))));
  attested_.assurance = achieved.is_overridden ? "" : achieved.assurance;
  if (achieved.is_overridden)
    for (const json& gate : overridden)
      if (gate.is_string()) attested_.overrides.push_back(gate.get<std::string>());
}

void Verifier::tell() {
  const json& provenance = of("provenance");
  const std::string parameters = "/predicate/buildDefinition/externalParameters";
  attested_.project = text_at(provenance, parameters + "/project");
  attested_.target = text_at(provenance, parameters + "/target");
  attested_.task = text_at(provenance, "/predicate/buildDefinition/internalParameters/task");
  attested_.builder = text_at(provenance, "/predicate/runDetails/builder/id");
  const json receipt =
      of("verification_summary").value(json::json_pointer("/predicate/proofhouse_receipt"), json());
  if (!receipt.is_object()) return;
  attested_.self_approved = receipt.value("self_approved", json()) == true;
  const json approvals = receipt.value("approvals", json());
  if (!approvals.is_array()) return;
  for (const json& each : approvals)
    attested_.approvals.push_back(
        text_at(each, "/by") +
        (each.is_object() && each.value("owner", json()) == true ? " (owner)" : ""));
}

}  // namespace

Attested verify_bundle(std::string_view bundle, const os::PublicKey& key, const VerifyOrder& order,
                       CloneView& clone) {
  return Verifier(key, order, clone).run(bundle);
}

}  // namespace runner
