#include "runner/git/git_protocol.h"

#include <array>

#include "tasks/json_archive.h"

namespace tasks::archive {

template <>
struct Words<runner::GitOperation> {
  static constexpr std::array<std::string_view, 11> kAll{
      "tip",         "fetch",   "add_pack",   "update_ref", "push",    "remote_tip",
      "is_ancestor", "inspect", "clone_bare", "policy_at",  "add_note"};
};

template <>
struct Fields<runner::GitRequest> {
  static void visit(auto& archive, auto& request) {
    archive.schema(1);
    archive("operation", request.operation);
    archive("repository", request.repository);
    archive("ref", request.ref);
    archive("url", request.url);
    archive("credential_file", request.credential_file);
    archive("hidden", request.hidden);
    archive("file_urls", request.file_urls);
    archive("schemes", request.schemes);
    archive("tracked", request.tracked);
    archive("pack", request.pack);
    archive("index", request.index);
    archive("note", request.note);
    archive("from", request.from);
    archive("to", request.to);
  }
};

template <>
struct Fields<runner::GitObstacle> {
  static void visit(auto& archive, auto& obstacle) {
    archive("code", obstacle.code);
    archive("text", obstacle.text);
  }
};

template <>
struct Fields<runner::GitAnswer> {
  static void visit(auto& archive, auto& answer) {
    archive.schema(1);
    archive("error_code", answer.error_code);
    archive("error_message", answer.error_message);
    archive("commit", answer.commit);
    archive("tree", answer.tree);
    archive("policy_blob", answer.policy_blob);
    archive("policy_sha256", answer.policy_sha256);
    archive("holds", answer.holds);
    archive("obstacles", answer.obstacles);
  }
};

}  // namespace tasks::archive

namespace runner {

std::string encode(const GitRequest& request) { return tasks::archive::write_record(request); }

os::Result<GitRequest> decode_git_request(std::string_view line) {
  return tasks::archive::read_record<GitRequest>(line, "git request");
}

std::string encode(const GitAnswer& answer) { return tasks::archive::write_record(answer); }

os::Result<GitAnswer> decode_git_answer(std::string_view line) {
  return tasks::archive::read_record<GitAnswer>(line, "git answer");
}

}  // namespace runner
