// What serve asks the `git` helper, and what it answers: one JSON object in a line, each way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/ids.h"

namespace runner {

inline constexpr std::size_t kMaxGitLine = 1U << 20U;  // bytes of a request or an answer

enum class GitOperation : std::uint8_t {
  tip,          // repository, ref -> commit, tree, policy_blob, policy_sha256
  fetch,        // repository, url, ref -> the same, of refs/remotes/origin/<name>
  add_pack,     // repository, pack, index, to
  update_ref,   // repository, ref, from, to
  push,         // repository, url, ref, from, to -> commit: what the remote has afterwards
  remote_tip,   // repository, url, ref -> commit; tree if the repository has the commit
  is_ancestor,  // repository, from, to -> holds
  inspect,      // repository, ref -> obstacles
  clone_bare,   // url, repository (made), ref, tracked
  policy_at,    // repository, to -> policy_blob, policy_sha256
  add_note      // repository, ref (of the notes), to, note
};

// A request. What an operation does not use stays empty.
struct GitRequest {
  GitOperation operation = GitOperation::tip;
  std::string repository;
  std::string ref;
  std::string url;
  std::string credential_file;
  std::vector<std::string> hidden = {};  // absolute paths that the helper must not open
  bool file_urls = false;                // an admin allowed paths and file://
  // Schemes that addresses may have, see tasks::git::check_url.
  std::vector<std::string> schemes = {"https", "ssh"};
  bool tracked = false;  // clone_bare: branches go to refs/remotes/origin/*
  std::string pack, index;
  std::string note;
  tasks::CommitId from, to;
  bool operator==(const GitRequest&) const = default;
};

// Something that stands against a repository: see tasks::git::Obstacle.
struct GitObstacle {
  std::string code, text;
  bool operator==(const GitObstacle&) const = default;
};

// An answer: `error_code` (os::code_name) with a message, or the rest.
struct GitAnswer {
  std::string error_code, error_message;
  tasks::CommitId commit;
  tasks::TreeId tree;
  std::string policy_blob, policy_sha256;
  bool holds = false;
  std::vector<GitObstacle> obstacles;
  bool operator==(const GitAnswer&) const = default;
};

// One line without its newline. Reading: invalid on unknown or missing keys and wrong types.
std::string encode(const GitRequest& request);
os::Result<GitRequest> decode_git_request(std::string_view line);
std::string encode(const GitAnswer& answer);
os::Result<GitAnswer> decode_git_answer(std::string_view line);

}  // namespace runner
