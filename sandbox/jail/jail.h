// Jail: the state of one jail and what it does for each request. main.cc is its specification.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/jail/client.h"
#include "sandbox/jail/execution.h"
#include "sandbox/jail/ready.h"
#include "sandbox/jail/stage.h"
#include "sandbox/jail/views.h"
#include "sandbox/jail/workspaces.h"

namespace sandbox::jail {

// A mount of the jail's own making, shown to one command.
struct ExtraView {
  View view;
  std::string target;
};

// A tmpfs that was /out of a run.
struct OutTree {
  std::string path;  // on the stage
  Domain domain = Domain::change;
};

// What one run needs besides its request; released when its result was told.
struct RunParts {
  std::string path;  // "runs/<id>"
  os::Fd directory;
  std::optional<Output> output;  // what it prints; `errors` only where both streams are apart
  std::optional<Output> errors;
  os::Fd errors_directory;
  Order order;
  std::vector<ExtraView> views;
  std::optional<Ready> ready;
  Workspace* workspace = nullptr;
  os::Fd workspace_mount;  // what becomes /workspace, and its directory
  os::Fd workspace_directory;
  os::Fd out_mount;
  std::string out;     // path of the tmpfs behind /out, empty: none
  os::Fd file_system;  // what the command writes /workspace to
  os::Fd devices;      // what becomes /dev, where it has GPUs
  std::vector<GpuNode> gpus;
  std::vector<std::string> gaps;
};

class Jail {
 public:
  // Takes the descriptors of request.h, leaves the host, makes the cgroup.
  static os::Result<std::unique_ptr<Jail>> start();

  Jail(const Jail&) = delete;
  Jail& operator=(const Jail&) = delete;

  // Answers requests until the client is gone; then everything is dead and the cgroup removed.
  os::Result<void> serve();

 private:
  Jail(Bounds bounds, Client client, CgroupHost cgroups, Cgroup group, Stage stage);

  os::Result<void> handle(const WorkspaceRequest& request);
  os::Result<RunResult> handle(const RunRequest& request);
  os::Result<void> handle(const PublishRequest& request);
  os::Result<void> handle(const KeepLayerRequest& request);
  void answer(const Request& request);

  // run.cc
  os::Result<RunResult> run(const RunRequest& request, std::vector<ExtraView> extra);
  os::Result<void> prepare(const RunRequest& request, std::vector<ExtraView> extra,
                           RunParts& parts);
  os::Result<void> prepare_places(const RunRequest& request, RunParts& parts);
  os::Result<void> prepare_mounts(const RunRequest& request, RunParts& parts);
  os::Result<void> prepare_limits(const RunRequest& request, RunParts& parts);
  // gpus.cc: reads the grant, makes /dev with its nodes, shows the driver's files.
  os::Result<void> prepare_gpus(const RunRequest& request, RunParts& parts);
  // The request fits what there is: a workspace of its domain, a repository, an id of its own.
  os::Result<void> check_places(const RunRequest& request);
  os::Result<Execution> start_command(const RunRequest& request, RunParts& parts);
  os::Result<void> open_recording(const RunRequest& request, RunParts& parts);
  os::Result<void> execute(const RunRequest& request, RunParts& parts, RunResult& result);
  // Two commands, what either prints being the other's input. Their parts are in ended_.
  os::Result<void> execute_both(const std::vector<const RunRequest*>& requests,
                                std::vector<RunResult>& results);
  os::Result<void> finish(const RunRequest& request, RunParts& parts, const Ending& ending,
                          RunResult& result);
  os::Result<os::Fd> make_run_directory(const std::string& id);
  os::Result<const SeccompPolicy*> policy(Profile profile);
  // Kills and removes what the last run left. Done after its result was told and before the next.
  os::Result<void> settle();
  os::Result<void> release(RunParts& parts);
  FileOwner owner() const { return {bounds_.attempt_uid, bounds_.attempt_gid}; }

  // ready.cc
  os::Result<Place> place_of(Domain domain, const Ready& ready);
  os::Result<Ready> make_ready();
  os::Result<Ready> take_ready(Domain domain);
  os::Result<void> get_ready(Domain domain);

  // publish.cc
  os::Result<void> check_tree_id(const PublishRequest& request, int source);

  Bounds bounds_;
  Client client_;
  CgroupHost cgroups_;
  Cgroup group_;
  Stage stage_;
  UserNamespaces spaces_;
  Views views_;
  std::map<std::string, Workspace> workspaces_;
  std::map<std::string, OutTree> outs_;
  std::map<Profile, SeccompPolicy> policies_;
  std::string beginning_;  // of the output of the last command
  std::set<std::string> run_ids_;
  int checks_ = 0;
  int groups_ = 0;
  SpareStacks spare_stacks_;
  std::map<Domain, Ready> ready_;
  std::optional<Domain> last_domain_;             // of a run that went well
  std::vector<std::unique_ptr<RunParts>> ended_;  // of the last run: not yet settled
};

}  // namespace sandbox::jail
