// plan.json: everything an attempt needs to know, resolved. Written by serve (or by `check`) before
// the attempt is started, durably; read by the attempt only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/request.h"
#include "tasks/change.h"
#include "tasks/ids.h"

namespace tasks {

enum class AttemptKind : std::uint8_t {
  verify,  // run what next() asks for
  ingest   // take a posted change in: candidate, trees, diff, policy
};

// What ingest is asked. Files lie in the attempt's directory under in/.
struct IngestSpec {
  enum class Source : std::uint8_t { patch, commit, rebase };
  Source source = Source::patch;
  std::string patch_file;          // "in/change.patch"
  std::string pack_file;           // "in/objects.pack": objects that the project lacks; empty: none
  CommitId commit;                 // source commit: the candidate; rebase: what to rebase
  CommitId onto;                   // rebase: the new tip
  CommitId base;                   // patch, commit: the base; rebase: the old base
  CommitId tip;                    // the target's tip: its policy is in force
  std::string policy_file;         // "in/policy.yaml": held by the server; empty: the tip's own
  std::string author;              // principal, for commits made from a patch
  std::string title;               // message
  std::int64_t time = 0;           // seconds since the epoch, of the commit made from a patch
  std::vector<TreeId> have_trees;  // already below trees/: need not be written again
  bool is_policy_optional = false;  // intent run on a repository without one (then refused later)
  bool operator==(const IngestSpec&) const = default;
};

struct Plan {
  std::string instance;  // 8 hex digits of the data directory
  std::string task, attempt;
  std::int64_t fence = 1;
  std::string created_at, deadline_at;  // RFC 3339 UTC
  AttemptKind kind = AttemptKind::verify;
  Intent intent = Intent::verify;
  Claims claims;
  std::vector<StepName> steps;  // intent run
  IngestSpec ingest;            // kind ingest
  IngestResult change;          // kind verify
  std::string policy_file;      // "policy.json" in the attempt's directory
  std::string base_file;        // kept evidence of the base ("base.json"), empty: none
  std::string layer;            // key of the base's kept build: used if it exists, else made
  std::vector<int> cpus;        // lease
  os::Bytes memory;             // lease
  // See Evidence, which takes both over.
  std::map<std::string, std::int64_t> earlier_tests;
  bool calibrates = false;
  bool operator==(const Plan&) const = default;
};

std::string plan_to_json(const Plan& plan);
os::Result<Plan> plan_from_json(std::string_view json);

}  // namespace tasks
