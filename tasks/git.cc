#include "tasks/git.h"

#include <fcntl.h>
#include <git2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <git2/sys/mempack.h>
#include <git2/sys/repository.h>

#include "tasks/git_handle.h"

namespace tasks::git {
namespace {

os::Code code_of(int code) {
  switch (code) {
    case GIT_ENOTFOUND:
      return os::Code::not_found;
    case GIT_EEXISTS:
    case GIT_EMODIFIED:
    case GIT_ENONFASTFORWARD:
    case GIT_ELOCKED:
    case GIT_EMERGECONFLICT:
      return os::Code::conflict;
    case GIT_EAUTH:
    case GIT_ECERTIFICATE:
      return os::Code::denied;
    case GIT_EINVALIDSPEC:
    case GIT_EINVALID:
    case GIT_EAMBIGUOUS:
    case GIT_EAPPLYFAIL:
      return os::Code::invalid;
    case GIT_EMISMATCH:
      return os::Code::corrupt;
    default:
      return os::Code::internal;
  }
}

os::Result<ObjectType> object_type(git_object_t type) {
  switch (type) {
    case GIT_OBJECT_COMMIT:
      return ObjectType::commit;
    case GIT_OBJECT_TREE:
      return ObjectType::tree;
    case GIT_OBJECT_BLOB:
      return ObjectType::blob;
    case GIT_OBJECT_TAG:
      return ObjectType::tag;
    default:
      return os::fail(os::Code::corrupt, "an object of unknown type");
  }
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// A backend reads one kind of store; `is_written` marks the one that takes what is made.
enum class BackendUse : std::uint8_t { read, write };

os::Result<void> add_backend(git_odb* odb, int made, git_odb_backend* backend, BackendUse use) {
  if (made < 0) return fail_git(made, "open the objects");
  const int code = use == BackendUse::write ? git_odb_add_backend(odb, backend, 100)
                                            : git_odb_add_alternate(odb, backend, 1);
  if (code < 0) return fail_git(code, "open the objects");
  return {};
}

}  // namespace

std::unexpected<os::Error> fail_git(int code, std::string_view what) {
  const git_error* const last = git_error_last();
  std::string message(what);
  message += ": ";
  message += last != nullptr && last->message != nullptr ? printable(last->message, 300)
                                                         : "libgit2 gives no reason";
  return os::fail(code_of(code), std::move(message));
}

git_oid to_oid(std::string_view hex) {
  git_oid oid{};
  os::check(git_oid_fromstrn(&oid, hex.data(), hex.size()) == 0, "an object id was not checked");
  return oid;
}

std::string to_text(const git_oid& oid) {
  std::array<char, GIT_OID_HEXSZ + 1> text{};
  git_oid_tostr(text.data(), text.size(), &oid);
  return text.data();
}

os::Result<CommitHandle> look_up(const Repository& repository, const CommitId& id) {
  const git_oid oid = to_oid(id.hex());
  return make<CommitHandle>("commit " + id.hex(), [&](git_commit** out) {
    return git_commit_lookup(out, repository.handle(), &oid);
  });
}

os::Result<TreeHandle> look_up(const Repository& repository, const TreeId& id) {
  const git_oid oid = to_oid(id.hex());
  return make<TreeHandle>("tree " + id.hex(), [&](git_tree** out) {
    return git_tree_lookup(out, repository.handle(), &oid);
  });
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string line;
  for (const char c : text) {
    if (line.size() >= limit) return line + "...";
    const auto byte = static_cast<unsigned char>(c);
    line += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return line;
}

os::Result<Session> Session::start(Use use) {
  const int started = git_libgit2_init();
  if (started < 0) return fail_git(started, "start libgit2");
  Session session;
  int code = 0;
  for (const git_config_level_t level : {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                                         GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL}) {
    code = std::min(code, git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, ""));
  }
  code = std::min(code, git_libgit2_opts(GIT_OPT_SET_TEMPLATE_PATH, ""));
  code = std::min(code, git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0));
  code = std::min(code, git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1));
  code = std::min(code, git_libgit2_opts(GIT_OPT_ENABLE_STRICT_SYMBOLIC_REF_CREATION, 1));
  code = std::min(code, git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1));
  code = std::min(code,
                  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, use == Use::repositories ? 1 : 0));
  if (use == Use::posted) {
    code = std::min(code, git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, kMaxPackObjects));
    code = std::min(code, git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECT_SIZE,
                                           static_cast<std::size_t>(kMaxObject)));
  }
  if (code < 0) return fail_git(code, "set up libgit2");
  return session;
}

Session::Session(Session&& other) noexcept : is_started_(std::exchange(other.is_started_, false)) {}

Session::~Session() {
  if (is_started_) git_libgit2_shutdown();
}

std::unexpected<os::Error> Refuser::refuse(Refusal refusal) {
  std::string message = refusal.code + ": ";
  if (!refusal.path.empty()) message += printable(refusal.path) + ": ";
  message += refusal.detail;
  // The first reason is the one nearest to its cause.
  if (!refusal_) refusal_ = std::move(refusal);
  return os::fail(os::Code::invalid, std::move(message));
}

void Repository::Close::operator()(git_repository* repository) const {
  git_repository_free(repository);
}
void Repository::Close::operator()(git_odb* odb) const { git_odb_free(odb); }

os::Result<Repository> Repository::open(const std::string& path) {
  RepositoryHandle opened =
      TRY(make<RepositoryHandle>("open repository " + path, [&](git_repository** out) {
        return git_repository_open_ext(out, path.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr);
      }));
  OdbHandle odb = TRY(make<OdbHandle>("open objects of " + path, [&](git_odb** out) {
    return git_repository_odb(out, opened.get());
  }));
  Repository repository;
  repository.repository_.reset(opened.release());
  repository.odb_.reset(odb.release());
  return repository;
}

os::Result<Repository> Repository::open_objects(const std::string& path) {
  const std::string objects = path + "/objects";
  if (exists(objects + "/info/alternates") || exists(objects + "/info/http-alternates"))
    return os::fail(os::Code::denied,
                    path +
                        " borrows objects of another repository (alternates); "
                        "run 'git repack -a -d' and remove objects/info/alternates");
  if (!exists(objects)) return os::fail(os::Code::not_found, path + " has no objects");
  return open_memory(objects);
}

os::Result<Repository> Repository::open_nothing() { return open_memory(""); }

os::Result<Repository> Repository::open_memory(const std::string& objects) {
  const std::string what = "open the objects";
  OdbHandle odb = TRY(make<OdbHandle>(what, git_odb_new));
  git_odb_backend* backend = nullptr;
  int made = git_mempack_new(&backend);
  TRY(add_backend(odb.get(), made, backend, BackendUse::write));
  if (!objects.empty()) {
    made = git_odb_backend_pack(&backend, objects.c_str());
    TRY(add_backend(odb.get(), made, backend, BackendUse::read));
    made = git_odb_backend_loose(&backend, objects.c_str(), 0, 0, 0, 0);
    TRY(add_backend(odb.get(), made, backend, BackendUse::read));
  }
  RepositoryHandle opened = TRY(make<RepositoryHandle>(what, git_repository_new));
  // Empty ones in place of those that the library would otherwise look for.
  const ConfigHandle config = TRY(make<ConfigHandle>(what, git_config_new));
  const IndexHandle index = TRY(make<IndexHandle>(what, git_index_new));
  int code = git_repository_set_odb(opened.get(), odb.get());
  if (code == 0) code = git_repository_set_config(opened.get(), config.get());
  if (code == 0) code = git_repository_set_index(opened.get(), index.get());
  if (code < 0) return fail_git(code, what);
  Repository repository;
  repository.repository_.reset(opened.release());
  repository.odb_.reset(odb.release());
  return repository;
}

os::Result<void> Repository::add_pack(const std::string& index_path) {
  git_odb_backend* backend = nullptr;
  const int made = git_odb_backend_one_pack(&backend, index_path.c_str());
  return add_backend(odb_.get(), made, backend, BackendUse::read);
}

os::Result<ObjectHeader> Repository::read_header(const std::string& id) const {
  const git_oid oid = to_oid(id);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  const int code = git_odb_read_header(&size, &type, odb_.get(), &oid);
  if (code < 0) return fail_git(code, "object " + id);
  return ObjectHeader{TRY(object_type(type)), size};
}

os::Result<Object> Repository::read(const std::string& id) const {
  const ObjectHeader header = TRY(read_header(id));
  if (header.size > kMaxObject)
    return os::fail(os::Code::exhausted, "object " + id + " is larger than 256 MiB");
  const git_oid oid = to_oid(id);
  const OdbObjectHandle object = TRY(make<OdbObjectHandle>(
      "object " + id, [&](git_odb_object** out) { return git_odb_read(out, odb_.get(), &oid); }));
  const auto* const data = static_cast<const char*>(git_odb_object_data(object.get()));
  return Object{TRY(object_type(git_odb_object_type(object.get()))),
                std::string(data, git_odb_object_size(object.get()))};
}

os::Result<Commit> Repository::commit(const CommitId& id) const {
  const ObjectHeader header = TRY(read_header(id.hex()));
  if (header.type != ObjectType::commit)
    return os::fail(os::Code::not_found, id.hex() + " is not a commit");
  const git_oid oid = to_oid(id.hex());
  const CommitHandle handle = TRY(make<CommitHandle>("commit " + id.hex(), [&](git_commit** out) {
    return git_commit_lookup(out, repository_.get(), &oid);
  }));
  Commit commit;
  commit.id = id;
  commit.tree = TRY(TreeId::parse(to_text(*git_commit_tree_id(handle.get()))));
  for (unsigned int i = 0; i < git_commit_parentcount(handle.get()); ++i)
    commit.parents.push_back(TRY(CommitId::parse(to_text(*git_commit_parent_id(handle.get(), i)))));
  const char* const summary = git_commit_summary(handle.get());
  commit.summary = summary == nullptr ? "" : printable(summary);
  return commit;
}

os::Result<Repository::File> Repository::find_file(const TreeId& tree,
                                                   std::string_view path) const {
  const git_oid oid = to_oid(tree.hex());
  const TreeHandle handle = TRY(make<TreeHandle>("tree " + tree.hex(), [&](git_tree** out) {
    return git_tree_lookup(out, repository_.get(), &oid);
  }));
  git_tree_entry* entry = nullptr;
  const int code = git_tree_entry_bypath(&entry, handle.get(), std::string(path).c_str());
  if (code < 0) return fail_git(code, path);
  File file{to_text(*git_tree_entry_id(entry)),
            static_cast<std::uint32_t>(git_tree_entry_filemode_raw(entry))};
  const bool is_blob = git_tree_entry_type(entry) == GIT_OBJECT_BLOB;
  git_tree_entry_free(entry);
  if (!is_blob) return os::fail(os::Code::not_found, std::string(path) + " is not a file");
  return file;
}

os::Result<RepositoryPaths> repository_paths(const Repository& repository) {
  const auto without_slash = [](const char* path) {
    std::string text = path == nullptr ? "" : path;
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
  };
  return RepositoryPaths{without_slash(git_repository_commondir(repository.handle())),
                         without_slash(git_repository_workdir(repository.handle()))};
}

os::Result<CommitId> resolve(const Repository& repository, const std::string& revision) {
  const ObjectHandle object =
      TRY(make<ObjectHandle>("revision '" + printable(revision) + "'", [&](git_object** out) {
        return git_revparse_single(out, repository.handle(), revision.c_str());
      }));
  const ObjectHandle commit =
      TRY(make<ObjectHandle>("revision '" + printable(revision) + "'", [&](git_object** out) {
        return git_object_peel(out, object.get(), GIT_OBJECT_COMMIT);
      }));
  return CommitId::parse(to_text(*git_object_id(commit.get())));
}

os::Result<bool> has_uncommitted_changes(const Repository& repository) {
  if (git_repository_is_bare(repository.handle()) != 0) return false;
  git_status_options options{};
  git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION);
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
  git_status_list* list = nullptr;
  const int code = git_status_list_new(&list, repository.handle(), &options);
  if (code < 0) return fail_git(code, "status");
  const bool has_some = git_status_list_entrycount(list) > 0;
  git_status_list_free(list);
  return has_some;
}

}  // namespace tasks::git
