#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/jail/copy.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/validate.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace sandbox::jail {
namespace {

// Bounds of a checkout; the ingest that wrote it has narrower ones of its own.
constexpr std::int64_t kMostFiles = 2'000'000;
constexpr os::Bytes kMostBytes{64ULL << 30U};

bool exists(int directory, const std::string& name) {
  struct stat info{};
  return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// Copies `source` aside and renames it to `name`: complete or not at all, also over a power cut.
os::Result<void> install(int source, int parent, const std::string& name, CopyRules rules) {
  struct stat info{};
  if (::fstat(parent, &info) != 0) return os::fail_errno("stat");
  rules.uid = info.st_uid;
  rules.gid = info.st_gid;
  const std::string aside = ".tmp-" + os::random_hex(8);
  os::Result<void> done;
  if (const os::Result<CopyCounts> copied = copy_directory(source, parent, aside, rules); !copied)
    done = std::unexpected(copied.error());
  if (done) {
    const os::Result<os::Fd> copy = os::open_beneath(parent, aside, O_RDONLY | O_DIRECTORY);
    if (!copy || ::syncfs(copy->get()) != 0) done = os::fail_errno("sync " + name);
  }
  if (done && ::renameat2(parent, aside.c_str(), parent, name.c_str(), RENAME_NOREPLACE) != 0 &&
      errno != EEXIST)
    done = os::fail_errno("rename to " + name);
  // Still there after an error, or when another jail was first.
  const os::Result<void> removed = os::remove_tree_at(parent, aside);
  return done ? removed : done;
}

}  // namespace

os::Result<void> Jail::check_tree_id(const PublishRequest& request, int source) {
  RunRequest check;
  check.id = "tree-id-" + std::to_string(checks_++);
  check.domain = Domain::reader;
  check.profile = Profile::strict;
  check.command = {"/proofhouse/ingest", "tree-id", "/in/tree"};
  check.environment = {"PATH=/usr/bin", "HOME=/home/build", "LANG=C.UTF-8"};
  check.limits.memory = std::min(os::Bytes{256U << 20U}, bounds_.memory);
  check.limits.pids = 8;
  check.limits.wall = std::chrono::seconds(60);
  check.limits.output = os::Bytes{64U << 10U};
  check.limits.keep = os::Bytes{8U << 10U};
  check.separate_error_output = true;
  std::vector<ExtraView> views;
  views.push_back({TRY(views_.show(source, Domain::reader)), "/in/tree"});
  const RunResult result = TRY(run(check, std::move(views)));
  if (!result.outcome.is_success())
    return os::fail(os::Code::corrupt, "the tree's id: " + describe(result.outcome));
  // Not read back from the run's files: those belong to the attempt, which asks for this.
  if (beginning_ != request.tree + "\n" || result.output_bytes != std::ssize(beginning_))
    return os::fail(os::Code::corrupt, "the tree written is not " + request.tree);
  return {};
}

os::Result<void> Jail::handle(const PublishRequest& request) {
  TRY(validate(request));
  const int trees = stage_.grants().trees.get();
  if (trees < 0) return os::fail(os::Code::invalid, "this jail was given no trees");
  const auto out = outs_.find(request.run);
  if (out == outs_.end())
    return os::fail(os::Code::not_found, "run " + request.run + " has no /out");
  if (exists(trees, request.tree)) return {};
  const os::Fd place = TRY(os::open_file(out->second.path, O_RDONLY | O_DIRECTORY));
  const os::Fd source =
      TRY_CONTEXT(os::open_beneath(place.get(), request.path, O_RDONLY | O_DIRECTORY), "path");
  TRY(check_tree_id(request, source.get()));
  const os::Fd parent = TRY(os::open_beneath(trees, ".", O_RDONLY | O_DIRECTORY));
  TRY_CONTEXT(install(source.get(), parent.get(), request.tree,
                      {.kind = CopyKind::tree, .bytes = kMostBytes, .files = kMostFiles}),
              "publish tree " + request.tree);
  return {};
}

os::Result<void> Jail::handle(const KeepLayerRequest& request) {
  TRY(validate(request));
  const int layers = stage_.grants().layers.get();
  if (layers < 0) return os::fail(os::Code::invalid, "this jail was given no layers");
  const auto workspace = workspaces_.find(request.workspace);
  if (workspace == workspaces_.end())
    return os::fail(os::Code::not_found, "no workspace " + request.workspace);
  if (exists(layers, request.key)) return {};
  const os::Fd source = TRY(os::open_file(workspace->second.upper(), O_RDONLY | O_DIRECTORY));
  const os::Fd parent = TRY(os::open_beneath(layers, ".", O_RDONLY | O_DIRECTORY));
  TRY_CONTEXT(install(source.get(), parent.get(), request.key,
                      {.kind = CopyKind::layer, .bytes = kMostBytes, .files = kMostFiles}),
              "keep layer " + request.key);
  return {};
}

}  // namespace sandbox::jail
