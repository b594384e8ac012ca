#include "tests/support/git_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/support/programs.h"

namespace tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStartLimit{30};

template <class Value>
Value need(os::Result<Value> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + result.error().message);
  return std::move(*result);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// A port of loopback that is free now.
int unused_port() {
  const os::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(probe.get(), raw, size) != 0 || ::getsockname(probe.get(), raw, &size) != 0)
    throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const os::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(port);
  return ::connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

template <class Condition>
void wait_until_so(const std::string& what_else, Condition&& is_so) {
  const auto deadline = steady_clock::now() + kStartLimit;
  while (!is_so()) {
    if (steady_clock::now() > deadline) throw std::runtime_error(what_else);
    std::this_thread::sleep_for(milliseconds(10));
  }
}

std::vector<std::string> file_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

GitServer::GitServer(const std::string& directory)
    : place_(need(os::TempDir::create("proofhouse-git"), "temporary directory")) {
  os::SpawnRequest request;
  request.program = "git";
  request.search_path = true;
  request.arguments = {"--exec-path"};
  request.environment = {"PATH=/usr/bin:/bin"};
  std::string programs = need(os::run_captured(request, kStartLimit), "git").output;
  programs.resize(programs.find('\n'));
  const int port = unused_port();
  // A name of its own, so that who looks for the directory's processes does not find these.
  const std::string base = place_ / "repositories";
  if (::symlink(directory.c_str(), base.c_str()) != 0)
    throw std::runtime_error("cannot link " + directory);
  // The daemon itself: `git daemon` would leave it behind.
  request.program = programs + "/git-daemon";
  request.search_path = false;
  request.die_with_parent = true;
  request.arguments = {"--listen=127.0.0.1",
                       "--port=" + std::to_string(port),
                       "--base-path=" + base,
                       "--export-all",
                       "--enable=receive-pack",
                       "--reuseaddr",
                       base};
  // The repositories may belong to another user.
  request.environment = {"PATH=/usr/bin:/bin", "HOME=" + place_.path(), "GIT_CONFIG_COUNT=1",
                         "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"};
  daemon_ = need(os::ChildProcess::spawn(request), "start git-daemon");
  wait_until_so("git-daemon does not start", [&] { return answers(port); });
  request.program = (source_dir() / "tests/support/cutting_proxy.py").string();
  request.arguments = {std::to_string(port), place_.path()};
  proxy_ = need(os::ChildProcess::spawn(request), "start the proxy");
  wait_until_so("the proxy does not start", [&] {
    const auto lines = file_lines(place_ / "port");
    if (!lines.empty()) port_ = lines.front();
    return !port_.empty();
  });
}

std::string GitServer::url(const std::string& name) const {
  return "git://127.0.0.1:" + port_ + "/" + name;
}

void GitServer::plan(const std::vector<std::string>& steps) const {
  std::ofstream file(place_ / "plan");
  for (const std::string& step : steps) file << step << "\n";
}

std::size_t GitServer::planned() const { return file_lines(place_ / "plan").size(); }

GitServer::Traffic GitServer::push(std::size_t number) const {
  std::vector<Traffic> pushes;
  wait_until_so("push " + std::to_string(number) + " does not end", [&] {
    pushes.clear();
    std::ifstream file(place_ / "pushes");
    for (Traffic traffic; file >> traffic.up >> traffic.down;) pushes.push_back(traffic);
    return pushes.size() > number;
  });
  return pushes[number];
}

std::vector<std::string> spread_cuts(const GitServer::Traffic& whole, int count) {
  std::vector<std::string> cuts;
  const int half = count / 2;
  for (int i = 0; i < half; ++i) {
    cuts.push_back("up " + std::to_string(whole.up * i / (half - 1)));
    cuts.push_back("down " + std::to_string(whole.down * i / (half - 1)));
  }
  return cuts;
}

}  // namespace tests
