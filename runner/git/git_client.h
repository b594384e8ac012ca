// GitClient: serve's side of the `git` helper, and ProjectGit by way of it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runner/git/git_protocol.h"
#include "runner/promotion/project_git.h"

namespace runner {

// How the helper is started.
struct GitClientOptions {
  std::string program;  // path of `proofhouse`
  std::vector<std::string> arguments{"git-helper"};
  std::chrono::milliseconds local_deadline{30'000};    // for work in a local repository
  std::chrono::milliseconds remote_deadline{300'000};  // for fetch, push and copying
  bool file_urls = false;                              // paths and file:// as addresses
  std::string credential_file;                         // see tasks::git::Remote
  std::vector<std::string> hidden = {};                // absolute paths kept from the helper
  std::vector<std::string> schemes{"https", "ssh"};    // that addresses may have
};

// An answer's error as an Error of its code.
os::Result<GitAnswer> to_result(GitAnswer answer);

// Starts one helper process a call; safe from several threads. A helper that does not end in time
// is killed: timeout. One that ends without an answer: internal.
class GitClient : public ProjectGit {
 public:
  explicit GitClient(GitClientOptions options) : options_(std::move(options)) {}

  os::Result<GitTip> tip(const Project& project) override;
  os::Result<void> land(const Project& project, const GitLanding& landing) override;
  os::Result<GitTip> read_back(const Project& project) override;
  os::Result<bool> is_ancestor(const Project& project, const tasks::CommitId& ancestor,
                               const tasks::CommitId& commit) override;
  // project.repository must be absolute. With `import` or authority remote it is made, from
  // spec.repository or spec.url.
  os::Result<PolicyFileId> policy_at(const Project& project,
                                     const tasks::CommitId& commit) override;
  os::Result<void> add_note(const Project& project, const tasks::CommitId& commit,
                            const std::string& note) override;
  os::Result<void> prepare(const Project& project, const ProjectSpec& spec) override;

  // One request; the helper's error becomes an Error of its code.
  virtual os::Result<GitAnswer> ask(GitRequest request) const;

 private:
  GitClientOptions options_;
};

}  // namespace runner
