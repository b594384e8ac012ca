// Git notes: text kept beside a commit, in a reference of its own (man 1 git-notes).
#pragma once

#include <string>

#include "tasks/git.h"

namespace tasks::git {

inline constexpr std::size_t kMaxNote = 1U << 20U;  // bytes

// Keeps `text` as the note of a commit below `ref` ("refs/notes/proofhouse"); a note that is there
// already is replaced. not_found: the repository lacks the commit.
os::Result<void> write_note(const Repository& repository, const std::string& ref,
                            const CommitId& commit, const std::string& text);

// not_found: the commit has none; exhausted: it is larger than kMaxNote.
os::Result<std::string> read_note(const Repository& repository, const std::string& ref,
                                  const CommitId& commit);

// The policy file of a commit: its blob and the SHA-256 of its bytes. not_found: it has none.
struct PolicyFile {
  std::string blob;
  std::string sha256;
};
os::Result<PolicyFile> policy_file(const Repository& repository, const CommitId& commit);

}  // namespace tasks::git
