#include "runner/statements.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "gates/verdict.h"
#include "runner/attest/dsse.h"
#include "runner/attest/names.h"
#include "runner/version.h"
#include "sandbox/os/digest.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

// Bytes of names in a test-result; of a larger suite the evidence has the rest.
constexpr std::size_t kMostNames = 128U << 10U;

json version_json() { return {{"proofhouse", kVersion}}; }

json sha256_json(const std::string& digest) { return {{"sha256", digest}}; }

std::string target_uri(const ReceiptFacts& receipt) {
  return "git+proofhouse:" + receipt.task.project + "@" + receipt.project.target;
}

json policy_json(const PolicyFileId& policy) {
  json digest = sha256_json(policy.sha256);
  if (!policy.blob.empty()) digest["gitBlob"] = policy.blob;
  return {{"name", "policy"},
          {"uri", policy.blob.empty() ? "held by the server" : std::string(tasks::kPolicyFile)},
          {"digest", digest}};
}

json statement_json(const StatementFacts& facts, std::string_view type, json predicate) {
  const ReceiptFacts& receipt = facts.receipt;
  const json digest{{"gitCommit", receipt.new_commit}, {"gitTree", receipt.task.change.tree.hex()}};
  return {{"_type", kStatement},
          {"subject", json::array({{{"name", target_uri(receipt)}, {"digest", digest}}})},
          {"predicateType", type},
          {"predicate", std::move(predicate)}};
}

json provenance_json(const StatementFacts& facts) {
  const ReceiptFacts& receipt = facts.receipt;
  const store::TaskRow& task = receipt.task;
  const json external{{"project", task.project},
                      {"target", receipt.project.target},
                      {"base", receipt.old_commit},
                      {"commit", receipt.new_commit},
                      {"intent", tasks::intent_name(task.intent)},
                      {"principal", task.principal},
                      {"claims",
                       {{"text", task.claims.text},
                        {"fixes", task.claims.fixes},
                        {"removes", task.claims.removes},
                        {"faster_millionths", task.claims.faster}}}};
  const json internal{{"task", task.id},
                      {"attempt", task.attempt},
                      {"fence", task.fence},
                      {"sandbox_level", task.level}};
  const json base{{"name", "base"},
                  {"uri", target_uri(receipt)},
                  {"digest", {{"gitCommit", receipt.old_commit}}}};
  const json environment{{"name", "environment"},
                         {"uri", "host"},
                         {"digest", sha256_json(facts.evidence.machine.environment_sha256)}};
  const auto product = [](const char* name, const std::string& digest) {
    return json{{"name", name}, {"digest", sha256_json(digest)}};
  };
  return {{"buildDefinition",
           {{"buildType", kBuildType},
            {"externalParameters", external},
            {"internalParameters", internal},
            {"resolvedDependencies", json::array({base, policy_json(facts.policy), environment})}}},
          {"runDetails",
           {{"builder", {{"id", builder_id(task.level)}, {"version", version_json()}}},
            {"metadata",
             {{"invocationId", facts.evidence.instance + "/" + task.id + "/" + task.attempt + "/" +
                                   std::to_string(task.fence)},
              {"startedOn", facts.evidence.started_at},
              {"finishedOn", facts.evidence.finished_at}}},
            {"byproducts", json::array({product("evidence", task.evidence_sha256),
                                        product("diff", task.change.diff.digest),
                                        product("resolved policy", task.policy_sha256)})}}}};
}

// Names of gates and tests by how they ended.
class Names {
 public:
  void add(json& list, const std::string& name) {
    bytes_ += name.size();
    if (bytes_ <= kMostNames)
      list.push_back(name);
    else
      ++cut_;
  }
  std::size_t cut() const { return cut_; }

  json passed = json::array(), warned = json::array(), failed = json::array();

 private:
  std::size_t bytes_ = 0;
  std::size_t cut_ = 0;
};

void add_tests(const tasks::Evidence& evidence, Names& names) {
  for (const tasks::RunRecord& run : evidence.runs) {
    if (run.key.side != tasks::Side::change || run.key.pair || run.key.rerun) continue;
    for (const tasks::ReportRecord& report : run.reports)
      for (const tasks::TestCase& test : report.parsed.tests.cases)
        if (test.status == tasks::CaseStatus::passed)
          names.add(names.passed, run.key.step.str() + ": " + test.id);
        else
          names.add(
              test.status == tasks::CaseStatus::failed || test.status == tasks::CaseStatus::error
                  ? names.failed
                  : names.warned,
              run.key.step.str() + ": " + test.id);
  }
}

json test_result_json(const StatementFacts& facts) {
  Names names;
  gates::Judgement judgement;
  if (auto kept = gates::judgement_from_json(facts.receipt.task.judgement))
    judgement = std::move(*kept);
  std::string result = "PASSED";
  for (const gates::GateResult& gate : judgement.gates) {
    const std::string name = "gate " + gate.name.str();
    const bool is_overridden = std::ranges::find(facts.receipt.overridden, gate.name.str()) !=
                               facts.receipt.overridden.end();
    if (gate.status == gates::GateStatus::passed) {
      names.add(names.passed, name);
    } else if (is_overridden) {
      names.add(names.failed, name);
      result = "FAILED";
    } else {
      names.add(names.warned, name);
      if (result == "PASSED") result = "WARNED";
    }
  }
  add_tests(facts.evidence, names);
  json predicate{{"result", result},
                 {"configuration", json::array({policy_json(facts.policy)})},
                 {"passedTests", names.passed},
                 {"warnedTests", names.warned},
                 {"failedTests", names.failed}};
  if (names.cut() > 0) predicate["proofhouse_cut"] = names.cut();
  return predicate;
}

struct Inputs {
  std::string provenance, test_result;  // payloads
};

json summary_json(const Notary& notary, const StatementFacts& facts, const Inputs& inputs) {
  const ReceiptFacts& receipt = facts.receipt;
  const json receipt_value = json::parse(facts.receipt_json, nullptr, false);
  const json assurance = receipt_value.value("assurance", json());
  const Achieved achieved{.level = receipt.task.level,
                          .assurance = assurance.is_string() ? assurance.get<std::string>() : "",
                          .is_overridden = !receipt.overridden.empty()};
  const auto input = [](const std::string& payload) {
    return json{{"digest", sha256_json(os::sha256(payload).hex())}};
  };
  return {{"verifier",
           {{"id", "https://proofhouse.invalid/instances/" + notary.instance()},
            {"version", version_json()}}},
          {"timeVerified", receipt.at},
          {"resourceUri", target_uri(receipt)},
          {"policy", policy_json(facts.policy)},
          {"inputAttestations", json::array({input(inputs.provenance), input(inputs.test_result)})},
          {"verificationResult", "PASSED"},
          {"verifiedLevels", verified_levels(achieved)},
          {"slsaVersion", "1.0"},
          {"proofhouse_receipt", receipt_value}};
}

}  // namespace

std::string make_statements(const Notary& notary, const StatementFacts& facts) {
  Inputs inputs;
  inputs.provenance =
      sandbox::dump_json(statement_json(facts, kProvenance, provenance_json(facts)));
  inputs.test_result =
      sandbox::dump_json(statement_json(facts, kTestResult, test_result_json(facts)));
  const std::string summary = sandbox::dump_json(
      statement_json(facts, kVerificationSummary, summary_json(notary, facts, inputs)));
  std::string lines;
  for (const std::string& payload : {inputs.provenance, inputs.test_result, summary})
    lines += notary.sign(kStatementType, payload) + "\n";
  return lines;
}

}  // namespace runner
