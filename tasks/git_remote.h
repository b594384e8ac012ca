// Repositories elsewhere: fetching, pushing without overwriting, copying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/git.h"
#include "tasks/git_refs.h"

namespace tasks::git {

inline constexpr std::uint64_t kMaxFetch = 8ULL << 30U;  // bytes that one fetch may bring

// Whether paths and file:// are taken.
enum class FileUrls : std::uint8_t { refuse, allow };

// Takes addresses of the given schemes (of https, ssh, http, git; user@host:path is ssh) and, if
// allowed, absolute paths and file://; with no password in it, no control characters, nothing that
// could be an option. invalid, naming what is allowed.
os::Result<void> check_url(const std::string& url, FileUrls file_urls,
                           const std::vector<std::string>& schemes = {"https", "ssh"});

// Another repository. `credential_file`: for https "user:secret" in one line, for ssh a private
// key; empty: none, and for ssh the agent of SSH_AUTH_SOCK. Nothing is told to a server over http
// or git, which everybody on the way reads. Redirects are not followed. The address has been
// checked.
struct Remote {
  std::string url;
  std::string credential_file;
};

// Fetches the branch `ref` to refs/remotes/origin/<name> of the repository and answers its commit.
// not_found: there is no such branch; unavailable: not reached; denied.
os::Result<CommitId> fetch(const Repository& repository, const Remote& remote,
                           const std::string& ref);

// "refs/remotes/origin/main" for "refs/heads/main"
std::string tracking_ref(const std::string& ref);

// Pushes `to` and what it needs, so that a ref which is not at `from` stays as it is: conflict. For
// a path the compare-and-swap is ours (move_ref); else the remote compares with what it advertised
// to us in the same connection, which must be `from`. The caller reads the remote back.
os::Result<void> push(const Repository& repository, const Remote& remote, const RefMove& move);

// The commit of a branch of the remote.
os::Result<CommitId> remote_tip(const Remote& remote, const std::string& ref);

// A new bare repository at `destination` (made whole or not at all; it must not exist) with the
// branches of `remote`.
struct CloneSpec {
  enum class Branches : std::uint8_t {
    ours,    // refs/heads/*: the copy holds them from now on
    tracked  // refs/remotes/origin/*
  };
  Remote remote;
  std::string destination;
  std::string ref;  // HEAD of the new repository; must be among the branches
  Branches branches = Branches::ours;
};
os::Result<void> clone_bare(const CloneSpec& spec);

}  // namespace tasks::git
