// A change and what ingest found out about it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/ids.h"
#include "tasks/policy.h"

namespace tasks {

// run: just run steps, nothing judged; verify: verdict only; promote: verdict, approval, landing.
enum class Intent : std::uint8_t { run, verify, promote };
std::string_view intent_name(Intent intent);
os::Result<Intent> parse_intent(std::string_view name);

// What the author says the change does; each claim is checked.
struct Claims {
  std::string text;
  std::vector<std::string> fixes;    // tests that fail on the base and pass on the change
  std::vector<std::string> removes;  // tests that the change takes away on purpose
  // Benchmark gate ("speed": the geometric mean of what it compares; "speed/BM_Dot": that one) ->
  // by how much faster it became, in millionths (5%: 50,000).
  std::map<std::string, std::int64_t> faster;
  bool operator==(const Claims&) const = default;
};

struct DiffFile {
  char status = 'M';  // A added, M modified, D deleted, R renamed, T type changed
  std::string path;
  std::string old_path;      // differs from path for R only
  std::int64_t added = 0;    // lines
  std::int64_t removed = 0;  // lines
  bool binary = false;
  bool operator==(const DiffFile&) const = default;
};

// base -> candidate. `digest` is SHA-256 over the patch without line numbers and object ids of text
// files, so a clean rebase keeps it; `patch_sha256` is that of the patch text as shown.
struct Diff {
  std::vector<DiffFile> files;
  std::string digest;
  bool operator==(const Diff&) const = default;
  std::vector<std::string> paths() const;  // old and new, sorted, once each
};

// Why a posted change cannot be taken.
struct Refusal {
  std::string code;  // patch_conflict, invalid_path, invalid_mode, too_large, commit_not_found,
                     // not_descendant, stale_base, policy_missing, policy_invalid,
                     // rebase_conflict …
  std::string path;  // of the file, empty if none
  std::int64_t line = 0;
  std::string detail;  // the hunk, the nearest match, the next step
  bool operator==(const Refusal&) const = default;
};

// What ingest answers (ingest.json).
struct IngestResult {
  std::optional<Refusal> refusal;
  CommitId base;
  TreeId base_tree;
  CommitId candidate;
  TreeId tree;
  std::optional<TreeId> mixed_tree;  // only if guarded paths are touched
  std::vector<std::string> guarded;  // touched guarded paths, sorted
  Diff diff;
  std::string policy_sha256;  // of the canonical JSON
  bool operator==(const IngestResult&) const = default;
};

// The trees that attempts on the change may see: the base's, the candidate's, the mixed one.
std::set<TreeId> trees_of(const IngestResult& result);

std::string ingest_result_to_json(const IngestResult& result);
os::Result<IngestResult> ingest_result_from_json(std::string_view json);

}  // namespace tasks
