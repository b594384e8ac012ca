// Git repositories by libgit2, without what makes it act: no checkout, no hooks, no filters, no
// submodules, no configuration of the machine or the user.
//
// A libgit2 call may never return on damaged objects (a truncated loose object): whoever reads
// bytes of others runs in a process that somebody else ends after a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/change.h"
#include "tasks/ids.h"

extern "C" {
struct git_odb;
struct git_repository;
}

namespace tasks::git {

// Bounds of what is taken in.
inline constexpr std::uint64_t kMaxObject = 256ULL << 20U;  // bytes of one blob, tree or commit
inline constexpr std::uint64_t kMaxPack = 64ULL << 20U;     // bytes of a posted pack
inline constexpr std::size_t kMaxPackObjects = 200'000;

// What a process reads: packs that anybody posted, within the bounds above and never kept; or
// repositories, of any size, where what is written is forced to the disk before a call returns.
enum class Use : std::uint8_t { posted, repositories };

// The library, set up once a process (in main) before any other call of this folder; ends it on
// destruction. Empties the configuration search paths, verifies the hash of every object read and
// refuses objects that name missing ones.
class Session {
 public:
  static os::Result<Session> start(Use use);
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

 private:
  Session() = default;
  bool is_started_ = true;
};

// Notes why input is refused, so that a refusal (a value, the input's fault) can be told from an
// error (ours). Functions that take one answer Code::invalid after they refused.
class Refuser {
 public:
  std::unexpected<os::Error> refuse(Refusal refusal);
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  std::optional<Refusal> refusal_;
};

// Text of others for a message of ours: one line, control characters and bad UTF-8 as '?', at most
// `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 200);

enum class ObjectType : std::uint8_t { commit, tree, blob, tag };

struct Object {
  ObjectType type = ObjectType::blob;
  std::string bytes;
};

struct ObjectHeader {
  ObjectType type = ObjectType::blob;
  std::uint64_t size = 0;
};

struct Commit {
  CommitId id;
  TreeId tree;
  std::vector<CommitId> parents;
  std::string summary;
};

// An open repository. Not thread-safe.
class Repository {
 public:
  // The repository at `path` itself (its .git or a bare one); no search in parents.
  static os::Result<Repository> open(const std::string& path);
  // Only the objects of the repository at `path`, never written to; what is made is kept in memory.
  // No references, no configuration, no attributes of it are read. Refuses (denied) one that has
  // alternates.
  static os::Result<Repository> open_objects(const std::string& path);
  // No objects but those made or added.
  static os::Result<Repository> open_nothing();

  Repository(Repository&&) noexcept = default;
  Repository& operator=(Repository&&) noexcept = default;
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;
  ~Repository() = default;

  // Makes the objects of one indexed pack readable (open_objects only).
  os::Result<void> add_pack(const std::string& index_path);

  // An object by 40 hexadecimal digits; not_found, or exhausted over kMaxObject.
  os::Result<Object> read(const std::string& id) const;
  os::Result<ObjectHeader> read_header(const std::string& id) const;
  // not_found: unknown or not a commit.
  os::Result<Commit> commit(const CommitId& id) const;
  // The blob at a path of a tree, with its mode; not_found, also for a directory.
  struct File {
    std::string id;
    std::uint32_t mode = 0;
  };
  os::Result<File> find_file(const TreeId& tree, std::string_view path) const;

  git_repository* handle() const { return repository_.get(); }
  git_odb* objects() const { return odb_.get(); }

 private:
  struct Close {
    void operator()(git_repository* repository) const;
    void operator()(git_odb* odb) const;
  };
  Repository() = default;
  static os::Result<Repository> open_memory(const std::string& objects);
  std::unique_ptr<git_repository, Close> repository_;
  std::unique_ptr<git_odb, Close> odb_;
};

// Where a repository keeps its things.
struct RepositoryPaths {
  std::string git_dir;   // the common git directory: objects and refs are below it
  std::string work_dir;  // empty: bare
};
os::Result<RepositoryPaths> repository_paths(const Repository& repository);

// The commit a revision of the user names ("HEAD~2", a branch, a tag); not_found, invalid.
os::Result<CommitId> resolve(const Repository& repository, const std::string& revision);

// True if tracked files differ from HEAD or from the index, or untracked ones are there.
os::Result<bool> has_uncommitted_changes(const Repository& repository);

}  // namespace tasks::git
