// What `policy prove` found out, and how it is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gates/verdict.h"
#include "sandbox/os/result.h"
#include "tasks/change.h"
#include "tasks/policy.h"

namespace runner::cli {

enum class ProofEnd : std::uint8_t {
  caught,   // refused, or left to owners
  passes,   // every gate passed
  unclear,  // inconclusive: neither
  not_applicable
};

struct ProofRow {
  std::string saboteur, trick;
  ProofEnd end = ProofEnd::not_applicable;
  std::string gate;       // that caught it, or could not decide; "owners": guarded files
  std::string assurance;  // of that gate
  std::string words;      // what it said, or why there is no such saboteur
};

struct Proof {
  std::string commit;
  std::string policy_sha256;
  std::string target;  // the function that was broken, with its file; empty: none
  std::vector<ProofRow> rows;
};

// What became of a saboteur, from its verdict. corrupt: the verdict is `error`, which says nothing.
os::Result<ProofRow> proof_row(const tasks::Policy& policy, const tasks::IngestResult& change,
                               const gates::Judgement& judgement);

// 0: none passes; 1: one passes; 9: none passes, and of one it cannot be told, or none could be
// tried.
int exit_code_of_proof(const Proof& proof);

// A table and a line that names what would pass; escaped.
std::string proof_text(const Proof& proof);
std::string proof_json(const Proof& proof);

}  // namespace runner::cli
