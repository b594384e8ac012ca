#include "runner/cli/private_executor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/cli/exit_code.h"
#include "runner/cli/terminal.h"
#include "runner/executor/executor_main.h"
#include "runner/version.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

constexpr std::size_t kOptionsLimit = 1U << 20U;

std::vector<std::string> executor_environment() {
  std::vector<std::string> environment{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
  if (const char* failpoint = std::getenv("PROOFHOUSE_FAILPOINT"))
    environment.push_back(std::string("PROOFHOUSE_FAILPOINT=") + failpoint);
  return environment;
}

os::Result<ExecutorOptions> read_options() {
  const os::Fd file(kOptionsFd);
  return decode_executor_options(TRY(os::read_all(file.get(), kOptionsLimit)));
}

}  // namespace

os::Result<ExecutorOptions> executor_options(const Config& config, uid_t uid, gid_t gid) {
  ExecutorOptions options;
  options.data = config.data;
  options.instance = instance_of(config);
  options.programs = TRY(os::program_directory());
  options.serve_uid = uid;
  options.serve_gid = gid;
  options.first_id = config.first_id;
  options.id_slots = config.id_slots;
  options.gaps_allowed = config.allow_gaps;
  options.read_only_paths = config.read_only_paths;
  options.max_cpus = config.max_cpus;
  options.max_memory = config.max_memory;
  options.gpus = config.gpus;
  options.version = kVersion;
  return options;
}

os::Result<os::Fd> start_private_executor(const ExecutorOptions& options) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return os::fail_errno("socketpair");
  os::Fd ours(ends[0]);
  const os::Fd theirs(ends[1]);
  const os::Fd file =
      TRY(os::sealed_memory_file("executor-options", encode_executor_options(options)));
  os::SpawnRequest request;
  request.program = options.programs + "/proofhouse";
  request.arguments = {"executor", "--private"};
  request.environment = executor_environment();
  request.directory = "/";
  request.descriptors = {{theirs.get(), kClientFd}, {file.get(), kOptionsFd}};
  // Ctrl-C at our terminal is for us: it looks after attempts until we are gone.
  request.new_session = true;
  os::ChildProcess child =
      TRY_CONTEXT(os::ChildProcess::spawn(request), "start the executor " + request.program);
  // It is no longer ours to kill once we have dropped our rights; the closed socket ends it.
  child.detach();
  return ours;
}

int run_private_executor() {
  os::Result<ExecutorOptions> options = read_options();
  if (!options) {
    say("executor: it is started by serve or check, not by hand: " + options.error().message);
    return kExitUsage;
  }
  options->socket = kClientFd;
  return run_executor(*options);
}

std::string encode_executor_options(const ExecutorOptions& options) {
  return sandbox::dump_json({{"schema", 1},
                             {"data", options.data},
                             {"instance", options.instance},
                             {"programs", options.programs},
                             {"serve_uid", options.serve_uid},
                             {"serve_gid", options.serve_gid},
                             {"first_id", options.first_id},
                             {"id_slots", options.id_slots},
                             {"gaps_allowed", options.gaps_allowed},
                             {"read_only_paths", options.read_only_paths},
                             {"max_cpus", options.max_cpus},
                             {"max_memory", options.max_memory.count},
                             {"gpu_nvml", options.gpus.inventory.nvml},
                             {"gpu_cdi", options.gpus.inventory.cdi},
                             {"gpu_devices", options.gpus.inventory.devices},
                             {"gpu_allow", options.gpus.inventory.allow},
                             {"gpu_book", options.gpus.book},
                             {"gpu_scrub", options.gpus.scrub},
                             {"gpu_burn_in", options.gpus.burn_in},
                             {"version", options.version}});
}

os::Result<ExecutorOptions> decode_executor_options(std::string_view text) {
  const nlohmann::json json = TRY(sandbox::parse_json(text));
  ExecutorOptions options;
  try {
    if (json.at("schema").get<int>() != 1)
      return os::fail(os::Code::invalid, "the options are of another version");
    json.at("data").get_to(options.data);
    json.at("instance").get_to(options.instance);
    json.at("programs").get_to(options.programs);
    json.at("serve_uid").get_to(options.serve_uid);
    json.at("serve_gid").get_to(options.serve_gid);
    json.at("first_id").get_to(options.first_id);
    json.at("id_slots").get_to(options.id_slots);
    json.at("gaps_allowed").get_to(options.gaps_allowed);
    json.at("read_only_paths").get_to(options.read_only_paths);
    json.at("max_cpus").get_to(options.max_cpus);
    json.at("max_memory").get_to(options.max_memory.count);
    json.at("gpu_nvml").get_to(options.gpus.inventory.nvml);
    json.at("gpu_cdi").get_to(options.gpus.inventory.cdi);
    json.at("gpu_devices").get_to(options.gpus.inventory.devices);
    json.at("gpu_allow").get_to(options.gpus.inventory.allow);
    json.at("gpu_book").get_to(options.gpus.book);
    json.at("gpu_scrub").get_to(options.gpus.scrub);
    json.at("gpu_burn_in").get_to(options.gpus.burn_in);
    json.at("version").get_to(options.version);
  } catch (const nlohmann::json::exception& error) {
    return os::fail(os::Code::invalid, error.what());
  }
  return options;
}

}  // namespace runner::cli
