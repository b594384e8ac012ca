#include "tasks/git_refs.h"

#include <fcntl.h>
#include <git2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/git_handle.h"
#include "tasks/git_history.h"
#include "tasks/policy.h"

namespace tasks::git {
namespace {

constexpr std::size_t kMaxPolicy = 256U << 10U;
constexpr std::size_t kMaxHead = 4096;

os::Result<CommitId> read_ref(const Repository& repository, const std::string& ref) {
  git_oid oid{};
  const int code = git_reference_name_to_id(&oid, repository.handle(), ref.c_str());
  if (code < 0) return fail_git(code, ref);
  return CommitId::parse(to_text(oid));
}

// True if the file HEAD at `path` says that `ref` is checked out.
bool names(const std::string& path, const std::string& ref) {
  const os::Result<std::string> head = os::read_file(path, kMaxHead);
  return head && (*head == "ref: " + ref + "\n" || *head == "ref: " + ref);
}

// The work tree that has `ref` checked out; empty: none.
std::string work_tree_of(const Repository& repository, const std::string& ref) {
  const std::string common = git_repository_commondir(repository.handle());
  const char* const main_tree = git_repository_workdir(repository.handle());
  if (git_repository_is_bare(repository.handle()) == 0 && names(common + "HEAD", ref))
    return main_tree == nullptr ? common : main_tree;
  const os::Result<std::vector<std::string>> linked =
      os::list_directory(common + "worktrees", 10'000);
  if (!linked) return "";
  for (const std::string& name : *linked)
    if (names(common + "worktrees/" + name + "/HEAD", ref)) return common + "worktrees/" + name;
  return "";
}

os::Result<void> sync(const std::string& path, int flags) {
  const os::Fd file = TRY(os::open_file(path, flags));
  if (::fsync(file.get()) != 0) return os::fail_errno("fsync " + path);
  return {};
}

// Copies a file to `target` by way of a name of its own; what is there already is kept.
os::Result<void> copy_durably(const std::string& source, const std::string& target) {
  if (::access(target.c_str(), F_OK) == 0) return {};
  const os::Fd from = TRY(os::open_file(source, O_RDONLY | O_NOFOLLOW));
  struct stat status{};
  if (::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return os::fail(os::Code::invalid, source + " is not a file");
  const std::string aside = target + ".new-" + os::random_hex(8);
  const auto copy = [&]() -> os::Result<void> {
    const os::Fd to = TRY(os::open_file(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
    std::string piece(1U << 20U, '\0');
    for (;;) {
      const ssize_t got = ::read(from.get(), piece.data(), piece.size());
      if (got < 0) return os::fail_errno("read " + source);
      if (got == 0) break;
      TRY(os::write_all(to.get(), {piece.data(), static_cast<std::size_t>(got)}));
    }
    if (::fsync(to.get()) != 0) return os::fail_errno("fsync " + aside);
    if (std::rename(aside.c_str(), target.c_str()) != 0) return os::fail_errno("name " + target);
    return {};
  };
  os::Result<void> done = copy();
  if (!done) ::unlink(aside.c_str());
  return done;
}

// The checksum that a pack ends with: its name.
os::Result<std::string> pack_name(const std::string& path) {
  constexpr std::size_t kChecksum = 20;
  const os::Fd file = TRY(os::open_file(path, O_RDONLY | O_NOFOLLOW));
  std::array<char, kChecksum> tail{};
  if (::lseek(file.get(), -static_cast<off_t>(kChecksum), SEEK_END) < 0 ||
      ::read(file.get(), tail.data(), tail.size()) != static_cast<ssize_t>(kChecksum))
    return os::fail(os::Code::invalid, path + " is not a pack");
  return os::to_hex({tail.data(), tail.size()});
}

}  // namespace

os::Result<void> check_target_name(const std::string& ref) {
  int is_valid = 0;
  if (git_reference_name_is_valid(&is_valid, ref.c_str()) < 0 || is_valid == 0 ||
      !ref.starts_with(kHeads))
    return os::fail(os::Code::invalid,
                    "'" + printable(ref) + "' is no branch: a target is refs/heads/<name>");
  return {};
}

os::Result<Tip> read_tip(const Repository& repository, const std::string& ref) {
  Tip tip;
  tip.commit = TRY(read_ref(repository, ref));
  tip.tree = TRY(repository.commit(tip.commit)).tree;
  const os::Result<Repository::File> policy = repository.find_file(tip.tree, kPolicyFile);
  if (!policy) {
    if (policy.error().code == os::Code::not_found) return tip;
    return std::unexpected(policy.error());
  }
  tip.policy_blob = policy->id;
  // A policy that is too large is refused where it is read; it has no digest here.
  if (TRY(repository.read_header(policy->id)).size <= kMaxPolicy)
    tip.policy_sha256 = os::sha256(TRY(repository.read(policy->id)).bytes).hex();
  return tip;
}

os::Result<void> move_ref(const Repository& repository, const RefMove& move) {
  TRY(check_target_name(move.ref));
  const CommitId now = TRY(read_ref(repository, move.ref));
  if (now != move.from)
    return os::fail(os::Code::conflict,
                    move.ref + " is at " + now.hex() + ", not at " + move.from.hex());
  TRY(repository.commit(move.to));
  if (!TRY(descends_from(repository, move.to, move.from)))
    return os::fail(os::Code::conflict,
                    move.to.hex() + " does not descend from " + move.from.hex());
  const std::string work_tree = work_tree_of(repository, move.ref);
  if (!work_tree.empty())
    return os::fail(os::Code::conflict, move.ref + " is checked out in " + work_tree);
  const git_oid to = to_oid(move.to.hex());
  const git_oid from = to_oid(move.from.hex());
  // `now` was only for the message: this compares under the reference's lock.
  const os::Result<ReferenceHandle> moved =
      make<ReferenceHandle>("move " + move.ref, [&](git_reference** out) {
        return git_reference_create_matching(out, repository.handle(), move.ref.c_str(), &to, 1,
                                             &from, "proofhouse: promote");
      });
  if (!moved) return std::unexpected(moved.error());
  return {};
}

os::Result<void> add_pack_files(const std::string& path, const PackToAdd& files) {
  const std::string objects =
      TRY(repository_paths(TRY(Repository::open(path)))).git_dir + "/objects";
  const std::string folder = objects + "/pack";
  TRY(os::make_directories(folder));
  const std::string target = folder + "/pack-" + TRY(pack_name(files.pack));
  // A reader takes a pack for whole once it sees the index.
  TRY(copy_durably(files.pack, target + ".pack"));
  TRY(copy_durably(files.index, target + ".idx"));
  TRY(sync(folder, O_RDONLY | O_DIRECTORY));
  const Repository repository = TRY(Repository::open(path));
  os::Result<Commit> commit = repository.commit(files.commit);
  if (commit) {
    const os::Result<Object> tree = repository.read(commit->tree.hex());
    if (tree) return {};
    commit = std::unexpected(tree.error());
  }
  return os::fail(os::Code::corrupt, "the pack " + files.pack + " does not bring " +
                                         files.commit.hex() + ": " + commit.error().message);
}

os::Result<std::vector<Obstacle>> inspect(const std::string& path, const std::string& ref) {
  TRY(check_target_name(ref));
  const Repository repository = TRY(Repository::open(path));
  const std::string common = TRY(repository_paths(repository)).git_dir;
  const auto is_there = [&](const std::string& name) {
    return ::access((common + "/" + name).c_str(), F_OK) == 0;
  };
  std::vector<Obstacle> obstacles;
  if (is_there("objects/info/alternates"))
    obstacles.push_back({"alternates", "it borrows objects of another repository: git -C " + path +
                                           " repack -a -d && rm " + common +
                                           "/objects/info/alternates"});
  if (is_there("shallow"))
    obstacles.push_back({"shallow", "it lacks history: git -C " + path + " fetch --unshallow"});
  for (const char* const name : {"objects", "refs/heads"}) {
    if (::access((common + "/" + name).c_str(), W_OK) == 0) continue;
    obstacles.push_back({"not_writable", common + "/" + name + " is not writable by uid " +
                                             std::to_string(::geteuid()) +
                                             ": chown -R it to that "
                                             "user, or register a copy with --import"});
    break;
  }
  const std::string work_tree = work_tree_of(repository, ref);
  if (!work_tree.empty())
    obstacles.push_back({"checked_out", ref + " is checked out in " + work_tree + ": git -C " +
                                            work_tree +
                                            " switch --detach, or register a copy "
                                            "with --import"});
  if (!read_ref(repository, ref))
    obstacles.push_back({"no_target", "it has no " + ref + ": git -C " + path + " branch " +
                                          ref.substr(kHeads.size())});
  return obstacles;
}

}  // namespace tasks::git
