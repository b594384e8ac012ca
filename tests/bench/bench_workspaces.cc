#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/bench/bench_jail.h"
#include "tests/bench/parts.h"
#include "tests/bench/peers.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr int kFilesPerDirectory = 100;

// The slow ways are taken a few times only.
int rounds_of(int files) { return files > 20'000 ? 2 : 5; }

os::Result<void> shell(const std::string& script) {
  return spawn_and_wait({"/bin/sh", "-euc", script});
}

// A repository with one commit of so many small files, checked out at `directory`/tree. Without
// git's own collector, which would work in it behind our back.
os::Result<void> make_tree(const fs::path& directory, int files) {
  const fs::path tree = directory / "tree";
  for (int file = 0; file < files; ++file) {
    const fs::path place = tree / fmt::format("d{}", file / kFilesPerDirectory);
    if (file % kFilesPerDirectory == 0) fs::create_directories(place);
    std::ofstream(place / fmt::format("f{}", file)) << "file " << file << "\n";
  }
  return shell(
      fmt::format("cd {} && git init -q && git config gc.auto 0 && git add -A && "
                  "git -c user.name=b -c user.email=b@b commit -qm b",
                  tree.string()));
}

os::Result<void> measure_size(int files, const Options& options, std::vector<Series>& rows) {
  const std::string size = files >= 1000 ? fmt::format("{}k", files / 1000) : std::to_string(files);
  Series ours{"workspace_" + size, {}, {}, {}};
  Series worktree{"git_worktree_add_" + size, {}, {}, {}};
  Series links{"cp_al_" + size, {}, {}, {}};
  const std::unique_ptr<BenchJail> jail =
      TRY(BenchJail::start(sandbox::Ahead::nothing, options.prefix));
  const os::TempDir place = TRY(os::TempDir::create("proofhouse-tree"));
  TRY(make_tree(place.path(), files));
  // The checkout itself, without its repository, is what the jail is given.
  const std::string id(40, 'a');
  TRY(shell(fmt::format("cp -a {0}/tree {1}/{2} && rm -rf {1}/{2}/.git", place.path(),
                        jail->trees(), id)));
  TRY(jail->open_workspace(id));
  for (int round = 0; round < options.rounds; ++round)
    TRY(measure(ours, [&] { return jail->open_workspace(id); }));
  for (int round = 0; round < rounds_of(files); ++round) {
    TRY(measure(links, [&] {
      return shell(fmt::format("cp -al {0}/tree {0}/links{1}", place.path(), round));
    }));
    TRY(measure(worktree, [&] {
      return shell(
          fmt::format("git -C {0}/tree worktree add -q --detach {0}/work{1}", place.path(), round));
    }));
  }
  TRY(jail->close());
  std::printf("%8d %12.3f %12.3f %12.3f %18.1f %12.1f\n", files, ours.at(0.5) / 1000,
              ours.at(0.99) / 1000, ours.at(0) / 1000, worktree.at(0.5) / 1000,
              links.at(0.5) / 1000);
  for (Series* series : {&ours, &worktree, &links}) rows.push_back(std::move(*series));
  return {};
}

}  // namespace

os::Result<std::vector<Series>> measure_workspaces(const Options& options) {
  std::vector<Series> rows;
  std::printf("A workspace over a cached tree, ms\n%8s %12s %12s %12s %18s %12s\n", "files",
              "ours p50", "p99", "min", "git worktree add", "cp -al");
  for (const int files : {1'000, 10'000, 60'000}) TRY(measure_size(files, options, rows));
  std::printf("\n");
  return rows;
}

}  // namespace bench
