#include "tasks/git_history.h"

#include <git2.h>

#include <algorithm>

#include "tasks/git_handle.h"

namespace tasks::git {
namespace {

constexpr std::size_t kMaxRebased = 1'000;
constexpr std::size_t kMaxTitle = 200;

// One line of at most kMaxTitle bytes, cut between characters.
std::string one_line(std::string_view title) {
  std::string line;
  for (const char c : title) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (line.size() > kMaxTitle) {
    std::size_t end = kMaxTitle;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    line.resize(end);
  }
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return "Change";
  return line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

std::string conflict_path(git_index* index) {
  git_index_conflict_iterator* iterator = nullptr;
  if (git_index_conflict_iterator_new(&iterator, index) < 0) return "";
  const git_index_entry* ancestor = nullptr;
  const git_index_entry* ours = nullptr;
  const git_index_entry* theirs = nullptr;
  std::string path;
  if (git_index_conflict_next(&ancestor, &ours, &theirs, iterator) == 0) {
    for (const git_index_entry* const entry : {theirs, ours, ancestor})
      if (entry != nullptr && path.empty()) path = entry->path;
  }
  git_index_conflict_iterator_free(iterator);
  return path;
}

// One commit of a rebase: `step` on top of `onto`.
os::Result<CommitId> pick(const Repository& repository, const Commit& step, const CommitId& onto,
                          Refuser& refuser) {
  const CommitHandle commit = TRY(look_up(repository, step.id));
  const CommitHandle parent = TRY(look_up(repository, onto));
  git_merge_options options{};
  git_merge_options_init(&options, GIT_MERGE_OPTIONS_VERSION);
  options.flags = GIT_MERGE_FIND_RENAMES | GIT_MERGE_NO_RECURSIVE;
  const IndexHandle index = TRY(make<IndexHandle>("rebase " + step.id.hex(), [&](git_index** out) {
    return git_cherrypick_commit(out, repository.handle(), commit.get(), parent.get(), 0, &options);
  }));
  if (git_index_has_conflicts(index.get()) != 0)
    return refuser.refuse({"rebase_conflict", conflict_path(index.get()), 0,
                           "commit " + step.id.hex().substr(0, 12) + " ('" + step.summary +
                               "') conflicts with the target's tip " + onto.hex().substr(0, 12) +
                               "; make the change on that tip and post it again"});
  git_oid tree_oid{};
  int code = git_index_write_tree_to(&tree_oid, index.get(), repository.handle());
  if (code < 0) return fail_git(code, "rebase " + step.id.hex());
  const TreeHandle tree = TRY(look_up(repository, TRY(TreeId::parse(to_text(tree_oid)))));
  git_oid made{};
  const git_commit* parents[] = {parent.get()};
  code = git_commit_create(&made, repository.handle(), nullptr, git_commit_author(commit.get()),
                           git_commit_committer(commit.get()),
                           git_commit_message_encoding(commit.get()),
                           git_commit_message_raw(commit.get()), tree.get(), 1, parents);
  if (code < 0) return fail_git(code, "rebase " + step.id.hex());
  return CommitId::parse(to_text(made));
}

}  // namespace

os::Result<std::vector<Commit>> commits_between(const Repository& repository, const CommitId& base,
                                                const CommitId& head, std::size_t limit,
                                                Refuser& refuser) {
  const RevwalkHandle walk = TRY(make<RevwalkHandle>(
      "walk", [&](git_revwalk** out) { return git_revwalk_new(out, repository.handle()); }));
  const git_oid from = to_oid(head.hex());
  const git_oid until = to_oid(base.hex());
  int code = git_revwalk_sorting(walk.get(), GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
  if (code == 0) code = git_revwalk_push(walk.get(), &from);
  if (code == 0) code = git_revwalk_hide(walk.get(), &until);
  std::vector<Commit> commits;
  git_oid next{};
  while (code == 0 && (code = git_revwalk_next(&next, walk.get())) == 0) {
    if (commits.size() >= limit)
      return refuser.refuse({"too_large", "", 0,
                             "over " + std::to_string(limit) + " commits between base and change"});
    commits.push_back(TRY(repository.commit(TRY(CommitId::parse(to_text(next))))));
  }
  if (code == GIT_ENOTFOUND)
    return refuser.refuse({"commit_not_found", "", 0,
                           "an ancestor of " + head.hex() + " is missing: post it with its pack"});
  if (code != GIT_ITEROVER) return fail_git(code, "walk from " + head.hex());
  return commits;
}

os::Result<bool> descends_from(const Repository& repository, const CommitId& head,
                               const CommitId& base) {
  if (head == base) return true;
  const git_oid younger = to_oid(head.hex());
  const git_oid older = to_oid(base.hex());
  const int code = git_graph_descendant_of(repository.handle(), &younger, &older);
  if (code < 0) return fail_git(code, "walk from " + head.hex());
  return code == 1;
}

os::Result<CommitId> merge_base(const Repository& repository, const CommitId& one,
                                const CommitId& other) {
  const git_oid left = to_oid(one.hex());
  const git_oid right = to_oid(other.hex());
  git_oid found{};
  const int code = git_merge_base(&found, repository.handle(), &left, &right);
  if (code < 0) return fail_git(code, "common ancestor of " + one.hex() + " and " + other.hex());
  return CommitId::parse(to_text(found));
}

os::Result<CommitId> make_commit(const Repository& repository, const CommitSpec& spec) {
  const std::string email = spec.principal + "@proofhouse.invalid";
  const SignatureHandle signature = TRY(
      make<SignatureHandle>("author '" + printable(spec.principal) + "'", [&](git_signature** out) {
        return git_signature_new(out, spec.principal.c_str(), email.c_str(), spec.time, 0);
      }));
  const std::string message =
      one_line(spec.title) + "\n\nProofhouse-Task: " + one_line(spec.task) + "\n";
  const CommitHandle parent = TRY(look_up(repository, spec.parent));
  const TreeHandle tree = TRY(look_up(repository, spec.tree));
  const git_commit* parents[] = {parent.get()};
  git_oid made{};
  const int code =
      git_commit_create(&made, repository.handle(), nullptr, signature.get(), signature.get(),
                        nullptr, message.c_str(), tree.get(), 1, parents);
  if (code < 0) return fail_git(code, "make the commit");
  return CommitId::parse(to_text(made));
}

os::Result<CommitId> rebase(const Repository& repository, const RebaseSpec& spec,
                            Refuser& refuser) {
  const std::vector<Commit> steps =
      TRY(commits_between(repository, spec.base, spec.commit, kMaxRebased, refuser));
  CommitId at = spec.onto;
  for (const Commit& step : steps) {
    if (step.parents.size() != 1)
      return refuser.refuse({"rebase_conflict", "", 0,
                             "commit " + step.id.hex().substr(0, 12) +
                                 " is a merge: make the change on the new tip and post it again"});
    at = TRY(pick(repository, step, at, refuser));
  }
  return at;
}

}  // namespace tasks::git
