// ingest: takes a posted change in. Runs as a command in the strictest jail, because it parses git
// objects, patches and YAML that anybody may have written: no network, nothing writable but /out,
// ended after some seconds. It starts no process, and runs no hook, filter or checkout of git.
//
//   ingest take REQUEST.json [--in DIR] [--out DIR]
//       Reads: the request (a plan, see tasks/plan.h: its `ingest`, `task`); below DIR (/in): repo,
//       the project's repository (only its objects/, never written; alternates are refused);
//       change.patch for a patch; objects.pack if the plan names one; policy.yaml if the plan names
//       one, else the policy is that of the tip's tree.
//       Writes below DIR (/out): ingest.json (tasks::IngestResult, always); and unless refused
//       policy.json (canonical; not for a repository without one where the plan allows that),
//       diff.patch (at most 4 MiB, a last line says what was cut), diff.json (the same as lines,
//       see tasks/diff_view.h), candidate.pack and
//       candidate.idx (what the candidate reaches and the base does not; absent if they are one
//       commit), trees/<id>/ for the base's tree, the candidate's and the mixed one, but for those
//       in `have_trees`.
//       Limits: 100,000 entries, 64 levels, 1 GiB a tree, 256 MiB a file, 1,000 commits, a patch of
//       16 MiB. Symbolic links are data: whatever their target, they are written as links.
//   ingest index-pack PACK OUTDIR [REPO]
//       Unpacks and hashes every object of PACK, and reads each as what it claims to be; with REPO
//       every object that one of them names must be in PACK or REPO. Writes OUTDIR/<stem>.pack and
//       <stem>.idx and prints the pack's checksum.
//   ingest tree-id DIR
//       Prints the git id of a directory's contents, computed without git.
//
// Ends with 0 (also when the change is refused: then ingest.json says why), 1 with one line on
// standard output and standard error for whatever else went wrong, 2 for a wrong command line.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/files.h"
#include "tasks/git.h"
#include "tasks/git_pack.h"
#include "tasks/ingest/take.h"
#include "tasks/ingest/tree_id.h"

namespace {

using Arguments = std::vector<std::string>;

constexpr std::size_t kMaxRequest = 4U << 20U;

constexpr const char* kUsage =
    "usage: ingest take REQUEST.json [--in DIR] [--out DIR]\n"
    "       ingest index-pack PACK OUTDIR [REPO]\n"
    "       ingest tree-id DIR\n";

os::Result<void> take(const Arguments& arguments) {
  tasks::ingest::TakePaths paths;
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2)
    (arguments[i] == "--in" ? paths.in : paths.out) = arguments[i + 1];
  const std::string json = TRY(os::read_file(arguments[0], kMaxRequest));
  const tasks::Plan plan = TRY_CONTEXT(tasks::plan_from_json(json), arguments[0]);
  TRY(tasks::ingest::take(plan, paths));
  return {};
}

// "candidate" of "/in/candidate.pack"
std::string stem(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".pack")) name.resize(name.size() - 5);
  return name;
}

os::Result<void> index_pack(const Arguments& arguments) {
  tasks::git::Refuser refuser;
  std::optional<tasks::git::Repository> connected;
  if (arguments.size() == 3) connected = TRY(tasks::git::Repository::open_objects(arguments[2]));
  const std::string& directory = arguments[1];
  const tasks::git::PackFiles files =
      TRY(tasks::git::index_pack(arguments[0], directory, connected ? &*connected : nullptr));
  TRY(tasks::git::check_pack(files, refuser));
  const std::string target = directory + "/" + stem(arguments[0]);
  if (std::rename(files.pack.c_str(), (target + ".pack").c_str()) != 0 ||
      std::rename(files.index.c_str(), (target + ".idx").c_str()) != 0)
    return os::fail_errno("name the index " + target + ".idx");
  std::puts(files.name.c_str());
  return {};
}

os::Result<void> tree_id(const Arguments& arguments) {
  std::puts(TRY(tasks::ingest::tree_id(arguments[0])).hex().c_str());
  return {};
}

bool is_take(const std::string& mode, const Arguments& arguments) {
  if (mode != "take" || arguments.empty() || arguments.size() % 2 == 0) return false;
  for (std::size_t i = 1; i < arguments.size(); i += 2)
    if (arguments[i] != "--in" && arguments[i] != "--out") return false;
  return true;
}

int usage() {
  std::fputs(kUsage, stderr);
  return 2;
}

int report(const os::Result<void>& done) {
  if (done) return std::fflush(stdout) == 0 ? 0 : 1;
  const std::string line = "ingest: " + done.error().message + "\n";
  std::fputs(line.c_str(), stdout);
  std::fputs(line.c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // A core file would hold what the jail is to keep in.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::umask(0022);
  if (argc < 3) return usage();
  const std::string mode = argv[1];
  const Arguments arguments(argv + 2, argv + argc);
  const os::Result<tasks::git::Session> session =
      tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) return report(std::unexpected(session.error()));
  if (is_take(mode, arguments)) return report(take(arguments));
  if (mode == "index-pack" && (arguments.size() == 2 || arguments.size() == 3))
    return report(index_pack(arguments));
  if (mode == "tree-id" && arguments.size() == 1) return report(tree_id(arguments));
  return usage();
}
