#include "runner/cli/prove_report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runner/cli/exit_code.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

std::string_view end_name(ProofEnd end) {
  switch (end) {
    case ProofEnd::caught:
      return "caught";
    case ProofEnd::passes:
      return "passes";
    case ProofEnd::unclear:
      return "unclear";
    case ProofEnd::not_applicable:
      break;
  }
  return "not applicable";
}

std::ptrdiff_t count_of(const Proof& proof, ProofEnd end) {
  return std::ranges::count(proof.rows, end, &ProofRow::end);
}

void name_gate(ProofRow& row, const gates::Judgement& judgement, gates::GateStatus status) {
  const auto gate = std::ranges::find(judgement.gates, status, &gates::GateResult::status);
  if (gate == judgement.gates.end()) {
    row.gate = gates::failure_class_name(judgement.failure);
    return;
  }
  row.gate = gate->name.str();
  row.assurance = tasks::assurance_name(gate->assurance);
}

}  // namespace

os::Result<ProofRow> proof_row(const tasks::Policy& policy, const tasks::IngestResult& change,
                               const gates::Judgement& judgement) {
  ProofRow row;
  row.words = judgement.reason.text;
  switch (judgement.verdict) {
    case gates::Verdict::rejected:
      row.end = ProofEnd::caught;
      name_gate(row, judgement, gates::GateStatus::failed);
      return row;
    case gates::Verdict::inconclusive:
      row.end = ProofEnd::unclear;
      name_gate(row, judgement, gates::GateStatus::inconclusive);
      return row;
    case gates::Verdict::accepted: {
      const bool needs_owners = tasks::owner_approvals(policy, change.guarded) > 0;
      row.end = needs_owners ? ProofEnd::caught : ProofEnd::passes;
      row.gate = needs_owners ? "owners" : "";
      row.words =
          needs_owners ? "an owner has to look at " + change.guarded.front() : "every gate passed";
      return row;
    }
    case gates::Verdict::error:
    case gates::Verdict::ran:
      break;
  }
  return os::fail(os::Code::corrupt, judgement.reason.text);
}

int exit_code_of_proof(const Proof& proof) {
  if (count_of(proof, ProofEnd::passes) > 0) return kExitRejected;
  const bool is_told =
      count_of(proof, ProofEnd::unclear) == 0 && count_of(proof, ProofEnd::caught) > 0;
  return is_told ? kExitOk : kExitInconclusive;
}

std::string proof_text(const Proof& proof) {
  std::vector<std::vector<std::string>> rows{{"saboteur", "end", "gate", "assurance", "words"}};
  std::vector<std::string> passing;
  for (const ProofRow& row : proof.rows) {
    rows.push_back({row.saboteur, std::string(end_name(row.end)), escape_line(row.gate),
                    row.assurance, escape_line(row.words)});
    if (row.end == ProofEnd::passes) passing.push_back(row.saboteur);
  }
  std::string text = table(rows);
  if (!proof.target.empty())
    text += "\nbroken where it is needed: " + escape_line(proof.target) + "\n";
  if (!passing.empty()) text += fmt::format("would pass: {}\n", fmt::join(passing, ", "));
  return text + fmt::format("prove: {} caught, {} would pass, {} unclear, {} not applicable\n",
                            count_of(proof, ProofEnd::caught), passing.size(),
                            count_of(proof, ProofEnd::unclear),
                            count_of(proof, ProofEnd::not_applicable));
}

std::string proof_json(const Proof& proof) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ProofRow& row : proof.rows)
    rows.push_back({{"saboteur", row.saboteur},
                    {"trick", row.trick},
                    {"end", end_name(row.end)},
                    {"gate", row.gate},
                    {"assurance", row.assurance},
                    {"words", row.words}});
  return sandbox::dump_json({{"schema", 1},
                             {"commit", proof.commit},
                             {"policy_sha256", proof.policy_sha256},
                             {"target", proof.target},
                             {"saboteurs", std::move(rows)}});
}

}  // namespace runner::cli
