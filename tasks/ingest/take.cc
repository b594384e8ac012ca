#include "tasks/ingest/take.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>

#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/git_diff.h"
#include "tasks/git_history.h"
#include "tasks/git_pack.h"
#include "tasks/git_patch.h"
#include "tasks/git_tree.h"
#include "tasks/ingest/tree_writer.h"
#include "tasks/policy_json.h"
#include "tasks/policy_yaml.h"

namespace tasks::ingest {
namespace {

constexpr std::size_t kMaxPolicy = 256U << 10U;
constexpr std::size_t kMaxPatch = 16U << 20U;
constexpr std::size_t kMaxCommits = 1'000;

os::Result<void> write_file(const std::string& path, std::string_view bytes) {
  const os::Fd file = TRY(os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  return os::write_all(file.get(), bytes);
}

os::Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return os::fail_errno("make " + path);
  return {};
}

// One change on its way in. Each step fills more of the result.
class Intake {
 public:
  Intake(const Plan& plan, const TakePaths& paths, git::Repository& repository,
         git::Refuser& refuser)
      : plan_(plan),
        spec_(plan.ingest),
        paths_(paths),
        repository_(repository),
        refuser_(refuser),
        checker_(repository, refuser) {}

  os::Result<IngestResult> run() {
    TRY(read_base());
    TRY(read_pack());
    TRY(read_policy_file());
    TRY(make_candidate());
    TRY(check_commits());
    TRY(describe());
    TRY(write_trees());
    TRY(write_candidate());
    return std::move(result_);
  }

 private:
  os::Result<void> read_base();
  os::Result<void> read_pack();
  os::Result<void> read_policy_file();
  os::Result<std::string> policy_text();
  os::Result<void> make_candidate();
  os::Result<CommitId> commit_of_patch();
  os::Result<CommitId> posted_commit();
  os::Result<CommitId> rebased_commit();
  os::Result<void> check_commits();
  os::Result<void> describe();
  os::Result<void> write_trees();
  os::Result<void> write_candidate();
  // A commit, or refused as commit_not_found.
  os::Result<git::Commit> find_commit(const CommitId& id, const std::string& what);
  bool is_guarded_path(const std::string& path) const {
    return !policy_ || is_guarded(*policy_, path);
  }

  const Plan& plan_;
  const IngestSpec& spec_;
  const TakePaths& paths_;
  git::Repository& repository_;
  git::Refuser& refuser_;
  git::TreeChecker checker_;
  std::optional<Policy> policy_;
  IngestResult result_;
};

os::Result<git::Commit> Intake::find_commit(const CommitId& id, const std::string& what) {
  os::Result<git::Commit> commit = repository_.commit(id);
  if (!commit && commit.error().code == os::Code::not_found)
    return refuser_.refuse({"commit_not_found", "", 0,
                            what + " " + id.hex() +
                                " is not in the project: push it, or post it "
                                "with its objects"});
  return commit;
}

os::Result<void> Intake::read_base() {
  const bool is_rebase = spec_.source == IngestSpec::Source::rebase;
  const git::Commit base =
      TRY(find_commit(is_rebase ? spec_.onto : spec_.base, is_rebase ? "the new tip" : "the base"));
  result_.base = base.id;
  result_.base_tree = base.tree;
  return checker_.check(base.tree);
}

os::Result<void> Intake::read_pack() {
  if (spec_.pack_file.empty()) return {};
  const std::string directory = paths_.out + "/incoming";
  TRY(make_directory(directory));
  const os::Result<git::PackFiles> files =
      git::index_pack(paths_.in + "/objects.pack", directory, nullptr);
  if (!files && files.error().code == os::Code::invalid)
    return refuser_.refuse({"invalid_pack", "", 0, files.error().message});
  return repository_.add_pack(TRY(files).index);
}

os::Result<std::string> Intake::policy_text() {
  if (!spec_.policy_file.empty()) return os::read_file(paths_.in + "/policy.yaml", kMaxPolicy);
  const git::Commit tip = TRY(find_commit(spec_.tip, "the target's tip"));
  const std::string name(kPolicyFile);
  const os::Result<git::Repository::File> file = repository_.find_file(tip.tree, name);
  if (!file) {
    if (file.error().code != os::Code::not_found) return std::unexpected(file.error());
    if (spec_.is_policy_optional) return std::string();
    return refuser_.refuse({"policy_missing", name, 0,
                            "the target's tip " + tip.id.hex() + " has no " + name +
                                ": add one, or have one held by the server"});
  }
  if (file->mode != 0100644 && file->mode != 0100755)
    return refuser_.refuse({"policy_invalid", name, 0, "it is not a regular file"});
  if (TRY(repository_.read_header(file->id)).size > kMaxPolicy)
    return refuser_.refuse({"policy_invalid", name, 0, "it has over 262144 bytes"});
  return TRY(repository_.read(file->id)).bytes;
}

os::Result<void> Intake::read_policy_file() {
  const std::string yaml = TRY(policy_text());
  if (yaml.empty() && spec_.is_policy_optional) return {};
  PolicyReading reading = read_policy(yaml);
  if (!reading.policy) {
    const std::string name(kPolicyFile);
    return refuser_.refuse({"policy_invalid", name,
                            reading.problems.empty() ? 0 : reading.problems.front().line,
                            format_problems(name, reading.problems)});
  }
  policy_ = std::move(reading.policy);
  const std::string json = policy_to_json(*policy_);
  result_.policy_sha256 = os::sha256(json).hex();
  return write_file(paths_.out + "/policy.json", json);
}

os::Result<CommitId> Intake::commit_of_patch() {
  const os::Result<std::string> patch = os::read_file(paths_.in + "/change.patch", kMaxPatch);
  if (!patch && patch.error().code == os::Code::exhausted)
    return refuser_.refuse({"too_large", "", 0, "the patch has over 16777216 bytes"});
  const TreeId tree = TRY(git::apply_patch(repository_, result_.base_tree, TRY(patch), refuser_));
  if (tree == result_.base_tree)
    return refuser_.refuse({"empty_patch", "", 0, "the patch leaves every file as it is"});
  return git::make_commit(repository_, {.parent = result_.base,
                                        .tree = tree,
                                        .principal = spec_.author,
                                        .title = spec_.title,
                                        .task = plan_.task,
                                        .time = spec_.time});
}

os::Result<CommitId> Intake::posted_commit() {
  TRY(find_commit(spec_.commit, "the commit"));
  const os::Result<bool> descends = git::descends_from(repository_, spec_.commit, result_.base);
  if (!descends && descends.error().code == os::Code::not_found)
    return refuser_.refuse(
        {"commit_not_found", "", 0, "an ancestor is missing: " + descends.error().message});
  if (!TRY(descends))
    return refuser_.refuse({"not_descendant", "", 0,
                            spec_.commit.hex() + " does not descend from the base " +
                                result_.base.hex() + ": rebase it onto that commit"});
  return spec_.commit;
}

os::Result<CommitId> Intake::rebased_commit() {
  TRY(find_commit(spec_.base, "the old base"));
  const git::Commit old = TRY(find_commit(spec_.commit, "the commit"));
  // What is merged below has not been looked at yet.
  TRY(checker_.check(old.tree));
  return git::rebase(repository_, {spec_.base, spec_.commit, spec_.onto}, refuser_);
}

os::Result<void> Intake::make_candidate() {
  switch (spec_.source) {
    case IngestSpec::Source::patch:
      result_.candidate = TRY(commit_of_patch());
      break;
    case IngestSpec::Source::commit:
      result_.candidate = TRY(posted_commit());
      break;
    case IngestSpec::Source::rebase:
      result_.candidate = TRY(rebased_commit());
      break;
  }
  result_.tree = TRY(repository_.commit(result_.candidate)).tree;
  return {};
}

os::Result<void> Intake::check_commits() {
  for (const git::Commit& commit : TRY(git::commits_between(
           repository_, result_.base, result_.candidate, kMaxCommits, refuser_)))
    TRY(checker_.check(commit.tree));
  return checker_.check(result_.tree);
}

os::Result<void> Intake::describe() {
  const git::ShownDiff shown = TRY(git::show_diff(repository_, result_.base_tree, result_.tree));
  result_.diff = shown.diff;
  TRY(write_file(paths_.out + "/diff.patch", shown.text));
  TRY(write_file(paths_.out + "/diff.json", diff_view_to_json(shown.view)));
  std::vector<git::PathChange> subject;
  for (git::PathChange& change :
       TRY(git::changed_paths(repository_, result_.base_tree, result_.tree))) {
    if (is_guarded_path(change.path))
      result_.guarded.push_back(change.path);
    else
      subject.push_back(std::move(change));
  }
  std::ranges::sort(result_.guarded);
  if (policy_ && !result_.guarded.empty())
    result_.mixed_tree = TRY(git::change_tree(repository_, result_.base_tree, subject, refuser_));
  return {};
}

os::Result<void> Intake::write_trees() {
  TRY(make_directory(paths_.out + "/trees"));
  if (result_.mixed_tree) TRY(checker_.check(*result_.mixed_tree));
  std::set<TreeId> trees = trees_of(result_);
  for (const TreeId& present : spec_.have_trees) trees.erase(present);
  for (const TreeId& tree : trees)
    TRY(write_tree(repository_, tree, paths_.out + "/trees/" + tree.hex(), refuser_));
  return {};
}

os::Result<void> Intake::write_candidate() {
  if (result_.candidate == result_.base) return {};
  const git::PackFiles files =
      TRY(git::write_pack(repository_, {result_.candidate, {result_.base}}, paths_.out));
  const std::string pack = paths_.out + "/candidate.pack";
  const std::string index = paths_.out + "/candidate.idx";
  if (std::rename(files.pack.c_str(), pack.c_str()) != 0 ||
      std::rename(files.index.c_str(), index.c_str()) != 0)
    return os::fail_errno("name the pack");
  return {};
}

}  // namespace

os::Result<IngestResult> take(const Plan& plan, const TakePaths& paths) {
  git::Refuser refuser;
  git::Repository repository = TRY(git::Repository::open_objects(paths.in + "/repo"));
  os::Result<IngestResult> result = Intake(plan, paths, repository, refuser).run();
  if (!result) {
    if (!refuser.refusal()) return result;
    IngestResult refused;
    refused.refusal = refuser.refusal();
    result = std::move(refused);
  }
  // Only what the answer names is left for the jail to collect.
  TRY(os::remove_tree(paths.out + "/incoming"));
  TRY(write_file(paths.out + "/ingest.json", ingest_result_to_json(*result)));
  return result;
}

}  // namespace tasks::ingest
