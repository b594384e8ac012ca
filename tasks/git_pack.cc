#include "tasks/git_pack.h"

#include <fcntl.h>
#include <git2.h>
#include <unistd.h>

#include <utility>

#include "sandbox/os/files.h"
#include "tasks/git_handle.h"
#include "tasks/git_tree.h"

namespace tasks::git {
namespace {

constexpr std::size_t kPiece = 64U << 10U;

os::Result<void> feed(git_indexer* indexer, const std::string& path,
                      git_indexer_progress& progress) {
  const os::Fd file = TRY(os::open_file(path, O_RDONLY | O_NOFOLLOW));
  std::string piece(kPiece, '\0');
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0) return os::fail_errno("read " + path);
    if (got == 0) break;
    total += static_cast<std::uint64_t>(got);
    const int code =
        git_indexer_append(indexer, piece.data(), static_cast<std::size_t>(got), &progress);
    if (code < 0) {
      os::Error error = fail_git(code, "the pack").error();
      error.code = os::Code::invalid;
      return std::unexpected(std::move(error));
    }
  }
  // The library takes an empty stream for a pack that has not begun.
  if (total == 0) return os::fail(os::Code::invalid, "the pack is empty");
  return {};
}

os::Result<PackBuilderHandle> start_pack(const Repository& repository, const PackSpec& spec) {
  PackBuilderHandle builder =
      TRY(make<PackBuilderHandle>("make a pack", [&](git_packbuilder** out) {
        return git_packbuilder_new(out, repository.handle());
      }));
  git_packbuilder_set_threads(builder.get(), 1);
  const RevwalkHandle walk = TRY(make<RevwalkHandle>(
      "make a pack", [&](git_revwalk** out) { return git_revwalk_new(out, repository.handle()); }));
  const git_oid commit = to_oid(spec.commit.hex());
  int code = git_revwalk_push(walk.get(), &commit);
  for (const CommitId& without : spec.without) {
    const git_oid hidden = to_oid(without.hex());
    if (code == 0) code = git_revwalk_hide(walk.get(), &hidden);
  }
  if (code == 0) code = git_packbuilder_insert_walk(builder.get(), walk.get());
  if (code < 0) return fail_git(code, "make a pack of " + spec.commit.hex());
  return builder;
}

os::Result<void> check_object(const Repository& repository, const std::string& id,
                              Refuser& refuser) {
  const Object object = TRY_CONTEXT(repository.read(id), "object " + id);
  switch (object.type) {
    case ObjectType::blob:
      return {};
    case ObjectType::tree:
      TRY(parse_tree(object.bytes, "", refuser));
      return {};
    case ObjectType::commit:
      TRY(repository.commit(TRY(CommitId::parse(id))));
      return {};
    case ObjectType::tag:
      break;
  }
  return refuser.refuse({"corrupt_object", "", 0, "the pack holds a tag: " + id});
}

}  // namespace

os::Result<PackFiles> index_pack(const std::string& path, const std::string& directory,
                                 const Repository* connected) {
  git_indexer_options options{};
  git_indexer_options_init(&options, GIT_INDEXER_OPTIONS_VERSION);
  options.verify = connected == nullptr ? 0 : 1;
  const IndexerHandle indexer = TRY(make<IndexerHandle>("the pack", [&](git_indexer** out) {
    return git_indexer_new(out, directory.c_str(), 0644,
                           connected == nullptr ? nullptr : connected->objects(), &options);
  }));
  git_indexer_progress progress{};
  TRY(feed(indexer.get(), path, progress));
  const int code = git_indexer_commit(indexer.get(), &progress);
  if (code < 0) {
    os::Error error = fail_git(code, "the pack").error();
    error.code = os::Code::invalid;
    return std::unexpected(std::move(error));
  }
  const std::string name = git_indexer_name(indexer.get());
  return PackFiles{name, directory + "/pack-" + name + ".pack",
                   directory + "/pack-" + name + ".idx"};
}

os::Result<void> check_pack(const PackFiles& files, Refuser& refuser) {
  // A store of its own for the list: the library asks every backend for it, also who has none.
  const OdbHandle listed = TRY(make<OdbHandle>("list the pack", git_odb_new));
  git_odb_backend* backend = nullptr;
  int code = git_odb_backend_one_pack(&backend, files.index.c_str());
  if (code == 0) code = git_odb_add_backend(listed.get(), backend, 1);
  std::vector<std::string> ids;
  const auto collect = [](const git_oid* id, void* list) {
    static_cast<std::vector<std::string>*>(list)->push_back(to_text(*id));
    return 0;
  };
  if (code == 0) code = git_odb_foreach(listed.get(), collect, &ids);
  if (code < 0) return fail_git(code, "list the pack");
  Repository repository = TRY(Repository::open_nothing());
  TRY(repository.add_pack(files.index));
  for (const std::string& id : ids) TRY(check_object(repository, id, refuser));
  return {};
}

os::Result<PackFiles> write_pack(const Repository& repository, const PackSpec& spec,
                                 const std::string& directory) {
  const PackBuilderHandle builder = TRY(start_pack(repository, spec));
  const int code = git_packbuilder_write(builder.get(), directory.c_str(), 0644, nullptr, nullptr);
  if (code < 0) return fail_git(code, "write a pack into " + directory);
  const std::string name = git_packbuilder_name(builder.get());
  return PackFiles{name, directory + "/pack-" + name + ".pack",
                   directory + "/pack-" + name + ".idx"};
}

os::Result<std::string> make_pack(const Repository& repository, const PackSpec& spec,
                                  std::size_t limit) {
  const PackBuilderHandle builder = TRY(start_pack(repository, spec));
  struct Target {
    std::string bytes;
    std::size_t limit;
    bool is_full;
  } target{"", limit, false};
  const auto take = [](void* data, std::size_t size, void* payload) {
    auto* const into = static_cast<Target*>(payload);
    into->is_full = size > into->limit - into->bytes.size();
    if (into->is_full) return -1;
    into->bytes.append(static_cast<const char*>(data), size);
    return 0;
  };
  const int code = git_packbuilder_foreach(builder.get(), take, &target);
  if (target.is_full)
    return os::fail(os::Code::exhausted, "the pack has over " + std::to_string(limit) + " bytes");
  if (code < 0) return fail_git(code, "make a pack of " + spec.commit.hex());
  return std::move(target.bytes);
}

}  // namespace tasks::git
