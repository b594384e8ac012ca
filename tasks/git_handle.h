// Handles: owners of libgit2's objects, for the git_*.cc only. Declares what it needs of libgit2
// itself, so that no other file sees that library's header.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sandbox/os/result.h"
#include "tasks/ids.h"

extern "C" {
struct git_commit;
struct git_config;
struct git_diff;
struct git_index;
struct git_indexer;
struct git_object;
struct git_odb;
struct git_odb_object;
struct git_oid;
struct git_packbuilder;
struct git_patch;
struct git_reference;
struct git_remote;
struct git_repository;
struct git_revwalk;
struct git_signature;
struct git_tree;
void git_commit_free(git_commit*);
void git_config_free(git_config*);
void git_diff_free(git_diff*);
void git_index_free(git_index*);
void git_indexer_free(git_indexer*);
void git_object_free(git_object*);
void git_odb_free(git_odb*);
void git_odb_object_free(git_odb_object*);
void git_packbuilder_free(git_packbuilder*);
void git_patch_free(git_patch*);
void git_reference_free(git_reference*);
void git_remote_free(git_remote*);
void git_repository_free(git_repository*);
void git_revwalk_free(git_revwalk*);
void git_signature_free(git_signature*);
void git_tree_free(git_tree*);
}

namespace tasks::git {

class Repository;

// Calls libgit2's free function of a type.
template <class T, void (*free_fn)(T*)>
struct Freer {
  void operator()(T* object) const { free_fn(object); }
};
template <class T, void (*free_fn)(T*)>
using Handle = std::unique_ptr<T, Freer<T, free_fn>>;

using CommitHandle = Handle<git_commit, git_commit_free>;
using ConfigHandle = Handle<git_config, git_config_free>;
using DiffHandle = Handle<git_diff, git_diff_free>;
using IndexHandle = Handle<git_index, git_index_free>;
using IndexerHandle = Handle<git_indexer, git_indexer_free>;
using ObjectHandle = Handle<git_object, git_object_free>;
using OdbHandle = Handle<git_odb, git_odb_free>;
using OdbObjectHandle = Handle<git_odb_object, git_odb_object_free>;
using PackBuilderHandle = Handle<git_packbuilder, git_packbuilder_free>;
using PatchHandle = Handle<git_patch, git_patch_free>;
using ReferenceHandle = Handle<git_reference, git_reference_free>;
using RemoteHandle = Handle<git_remote, git_remote_free>;
using RepositoryHandle = Handle<git_repository, git_repository_free>;
using RevwalkHandle = Handle<git_revwalk, git_revwalk_free>;
using SignatureHandle = Handle<git_signature, git_signature_free>;
using TreeHandle = Handle<git_tree, git_tree_free>;

// Takes what a libgit2 call puts out: `call` gets the address of a raw pointer and answers the
// library's code; a negative one becomes the thread's last libgit2 error, `what` before it.
std::unexpected<os::Error> fail_git(int code, std::string_view what);

template <class H, class Call>
os::Result<H> make(std::string_view what, const Call& call) {
  typename H::pointer raw = nullptr;
  const int code = call(&raw);
  if (code < 0) return fail_git(code, what);
  return H(raw);
}

// The library's binary form of an id that has been checked (ObjectId), and back.
git_oid to_oid(std::string_view hex);
std::string to_text(const git_oid& oid);

inline constexpr std::string_view kHeads = "refs/heads/";

// Looks an object up by its id; not_found where the repository lacks it.
os::Result<CommitHandle> look_up(const Repository& repository, const CommitId& id);
os::Result<TreeHandle> look_up(const Repository& repository, const TreeId& id);

}  // namespace tasks::git
