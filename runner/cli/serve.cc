// serve: wires the service together and runs it until SIGTERM.
//
// Started as root it starts its own executor on a socketpair, makes the data directory for `user`,
// and becomes that user before it opens anything of a task; started as an ordinary user it needs a
// running executor's socket. Attempts live on when it ends. `keys/git` in the data directory, if it
// is there, is what remote repositories are reached with (see tasks/git_remote.h).
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/listen_address.h"
#include "runner/cli/private_executor.h"
#include "runner/cli/privileges.h"
#include "runner/cli/role_config.h"
#include "runner/cli/runtime_file.h"
#include "runner/cli/terminal.h"
#include "runner/executor/local.h"
#include "runner/git/git_client.h"
#include "runner/http/api.h"
#include "runner/http/origin.h"
#include "runner/http/server.h"
#include "runner/log.h"
#include "runner/service_core.h"
#include "runner/web/web.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"

namespace runner::cli {
namespace {

// The lane answers health checks when every other thread is busy.
constexpr std::size_t kLaneThreads = 6;
constexpr timespec kLook{.tv_sec = 1, .tv_nsec = 0};
// An orderly end takes no longer: an open event stream would hold it up for minutes, and what was
// promised is durable already.
constexpr std::chrono::seconds kEndLimit{5};

// Ends the process when its orderly end takes too long.
class EndDeadline {
 public:
  void arm(int code) {
    timer_ = std::jthread([code](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait_for(lock, stop, kEndLimit, [] { return false; });
      if (!stop.stop_requested()) ::_exit(code);
    });
  }

 private:
  std::jthread timer_;
};

// What has to be had while we may still be root.
struct Prepared {
  os::Fd executor;  // our end of the private executor's socketpair; closed: a socket path is used
  std::optional<RuntimeFile> runtime_file;
};

os::Result<void> give_data_directory(const std::string& path, const Account& account) {
  TRY(os::make_directories(path, 0711));
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return os::fail_errno("stat " + path);
  if (info.st_uid == account.uid) return {};
  if (info.st_uid != 0 || !TRY(os::list_directory(path)).empty())
    return os::fail(os::Code::conflict,
                    path + " belongs to another user than " + account.name + "; chown -R it");
  if (::chown(path.c_str(), account.uid, account.gid) != 0) return os::fail_errno("chown " + path);
  return {};
}

std::optional<RuntimeFile> open_runtime_file() {
  os::Result<RuntimeFile> file = RuntimeFile::open();
  if (file) return std::move(*file);
  log_line(LogLevel::warn, "commands need --server: the runtime file cannot be written",
           {{"error", file.error().message}});
  return std::nullopt;
}

os::Result<Prepared> prepare_as_root(const Config& config) {
  const Account account = TRY(serve_account(config));
  TRY(give_data_directory(config.data, account));
  Prepared prepared;
  if (config.executor_socket.empty())
    prepared.executor =
        TRY(start_private_executor(TRY(executor_options(config, account.uid, account.gid))));
  prepared.runtime_file = open_runtime_file();
  TRY_CONTEXT(drop_privileges(account), "drop root");
  return prepared;
}

os::Result<Prepared> prepare_as_user(const Config& config) {
  if (config.executor_socket.empty())
    return os::fail(os::Code::unavailable,
                    "an ordinary user's serve needs a running executor. As root: proofhouse "
                    "executor --socket /run/proofhouse/executor.sock, then set `executor:` to "
                    "that path. Or start serve as root: it gives its rights up by itself");
  Prepared prepared;
  prepared.runtime_file = open_runtime_file();
  TRY(harden_process());
  return prepared;
}

os::Result<std::unique_ptr<LocalExecutor>> connect_executor(const Config& config, os::Fd socket) {
  if (socket.is_open()) return LocalExecutor::over(std::move(socket));
  return LocalExecutor::connect(config.executor_socket);
}

// Signals that end serve are taken by wait_for_end; blocked before the first thread starts.
sigset_t block_end_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return set;
}

// Until a signal asks for the end (0), or the executor is gone: without root we cannot start
// another one, but who started us can start both anew.
int wait_for_end(const sigset_t& signals, const LocalExecutor& executor) {
  while (true) {
    const int signal = ::sigtimedwait(&signals, nullptr, &kLook);
    if (signal > 0) {
      log_line(LogLevel::info, "stopping", {{"signal", std::to_string(signal)}});
      return kExitOk;
    }
    if (!executor.is_connected()) {
      log_line(LogLevel::error, "the executor is gone; serve ends to be started again with it");
      return kExitError;
    }
  }
}

os::Result<GitClientOptions> git_options(const Config& config) {
  GitClientOptions options;
  options.program = TRY(os::program_directory()) + "/proofhouse";
  // Only an administrator registers a project, so a path as its address is an administrator's word.
  options.file_urls = true;
  options.schemes = config.git_schemes;
  const std::string credential = config.data + "/keys/git";
  if (::access(credential.c_str(), R_OK) == 0) options.credential_file = credential;
  for (const char* const secret : {"/keys/attest.key", "/admin.token", "/proofhouse.db",
                                   "/proofhouse.db-wal", "/proofhouse.db-shm"})
    options.hidden.push_back(config.data + secret);
  return options;
}

// Both HTTP servers: the public one and the lane.
struct Doors {
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<HttpServer> lane;
};

// What programs ask is answered in JSON, what browsers ask as a page.
bool is_of_api(const HttpRequest& request) {
  return request.path.starts_with("/v1") || request.path.starts_with("/healthz") ||
         request.path.starts_with("/readyz") || !request.header("accept").contains("text/html");
}

os::Result<Doors> open_doors(const Config& config, const ListenAddress& address, Api& api,
                             web::Web& pages) {
  const HttpHandler fallback = [&](const HttpRequest& request) {
    return is_of_api(request) ? api.fallback(request) : pages.fallback(request);
  };
  std::vector<HttpRoute> routes = api.routes();
  std::ranges::move(pages.routes(), std::back_inserter(routes));
  HttpOptions options;
  options.host = address.host;
  options.port = address.port;
  options.pack_limit = config.caps.pack.count;
  HttpOptions lane;
  lane.host = config.data + "/serve.sock";
  lane.threads = kLaneThreads;
  ::unlink(lane.host.c_str());
  Doors doors;
  doors.http = TRY_CONTEXT(HttpServer::start(options, std::move(routes), fallback), "listen");
  doors.lane = TRY_CONTEXT(HttpServer::start(lane, api.health_routes(), fallback), lane.host);
  return doors;
}

os::Result<int> serve(const Config& config) {
  const ListenAddress address = TRY(parse_listen_address(config.listen));
  ::umask(022);
  Prepared prepared =
      ::geteuid() == 0 ? TRY(prepare_as_root(config)) : TRY(prepare_as_user(config));
  const sigset_t signals = block_end_signals();
  std::unique_ptr<LocalExecutor> executor =
      TRY(connect_executor(config, std::move(prepared.executor)));
  const LocalExecutor& watched = *executor;
  std::unique_ptr<ServiceCore> service = TRY(ServiceCore::open(
      config, std::move(executor), std::make_unique<GitClient>(TRY(git_options(config)))));
  service->start();
  ApiOptions api_options;
  web::WebOptions web_options;
  if (!config.url.empty()) {
    api_options.hosts.push_back(host_of_url(config.url));
    web_options.hosts.push_back(host_of_url(config.url));
    web_options.has_tls = config.url.starts_with("https://");
  }
  Api api(*service, api_options);
  web::Web pages(*service, web_options);
  Doors doors = TRY(open_doors(config, address, api, pages));
  const std::string url = url_of(address, doors.http->port());
  if (prepared.runtime_file) {
    const os::Result<void> written =
        prepared.runtime_file->write(url, config.data + "/admin.token");
    if (!written) log_line(LogLevel::warn, "runtime file", {{"error", written.error().message}});
  }
  log_line(LogLevel::info, "listening", {{"url", url}});
  const int code = wait_for_end(signals, watched);
  prepared.runtime_file.reset();
  service->drain();
  service->stop();
  doors.http->stop();
  doors.lane->stop();
  return code;
}

}  // namespace

int run_command(const ServeCommand& command) {
  os::Result<Config> config = role_config(command.config);
  if (!config) {
    say(config.error().message);
    return kExitUsage;
  }
  if (!command.executor_socket.empty()) config->executor_socket = command.executor_socket;
  const os::Result<int> code = serve(*config);
  if (code) return *code;
  say("serve: " + code.error().message);
  return code.error().code == os::Code::invalid ? kExitUsage : kExitError;
}

}  // namespace runner::cli
