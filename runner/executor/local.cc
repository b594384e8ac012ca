#include "runner/executor/local.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace runner {
namespace {

// An answer that takes longer than this means that the executor hangs: the caller retries later.
constexpr std::chrono::seconds kAnswerLimit{60};

}  // namespace

std::unique_ptr<LocalExecutor> LocalExecutor::over(os::Fd socket) {
  return std::unique_ptr<LocalExecutor>(new LocalExecutor(std::move(socket)));
}

os::Result<std::unique_ptr<LocalExecutor>> LocalExecutor::connect(const std::string& path) {
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return os::fail_errno("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return os::fail(os::Code::invalid, "executor socket path is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return os::fail_errno("connect to executor at " + path);
  return over(std::move(socket));
}

LocalExecutor::LocalExecutor(os::Fd socket)
    : socket_(std::move(socket)), reader_([this] { read_socket(); }) {}

LocalExecutor::~LocalExecutor() {
  // Ends the reader's read(2); the thread is joined by its destructor.
  ::shutdown(socket_.get(), SHUT_RDWR);
}

bool LocalExecutor::is_connected() const {
  const std::scoped_lock lock(mutex_);
  return !closed_;
}

void LocalExecutor::read_socket() {
  LineBuffer lines;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(socket_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !lines.append({buffer.data(), static_cast<std::size_t>(got)})) break;
    while (const std::optional<std::string> line = lines.next()) {
      os::Result<ExecutorAnswer> answer = decode_executor_answer(*line);
      if (answer) take(std::move(*answer));
    }
  }
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

void LocalExecutor::take(ExecutorAnswer answer) {
  const std::scoped_lock lock(mutex_);
  if (answer.changed)
    changes_.push_back(*answer.changed);
  else
    answers_[answer.id] = std::move(answer);
  arrived_.notify_all();
}

os::Result<ExecutorAnswer> LocalExecutor::call(ExecutorCall call) {
  std::unique_lock lock(mutex_);
  if (closed_) return os::fail(os::Code::unavailable, "the executor is gone");
  const std::int64_t id = next_id_++;
  // Lines are written under the lock, so two calls never mix their bytes.
  TRY_CONTEXT(os::write_all(socket_.get(), encode(ExecutorRequest{id, std::move(call)})),
              "send to executor");
  const bool came =
      arrived_.wait_for(lock, kAnswerLimit, [&] { return closed_ || answers_.contains(id); });
  const auto found = answers_.find(id);
  if (found == answers_.end())
    return os::fail(os::Code::unavailable,
                    came ? "the executor is gone" : "the executor does not answer");
  ExecutorAnswer answer = std::move(found->second);
  answers_.erase(found);
  if (answer.error) return std::unexpected(*answer.error);
  return answer;
}

os::Result<ExecutorProbe> LocalExecutor::probe() {
  ExecutorAnswer answer = TRY(call(ProbeCall{}));
  if (!answer.probe) return os::fail(os::Code::corrupt, "executor answered no probe");
  return std::move(*answer.probe);
}

os::Result<void> LocalExecutor::start(const AttemptStart& start) {
  TRY(call(StartCall{start}));
  return {};
}

os::Result<std::vector<AttemptStatusReport>> LocalExecutor::list() {
  return TRY(call(ListCall{})).attempts;
}

os::Result<void> LocalExecutor::cancel(const tasks::AttemptId& attempt, std::int64_t fence,
                                       std::chrono::milliseconds grace) {
  TRY(call(CancelCall{attempt, fence, grace}));
  return {};
}

os::Result<void> LocalExecutor::remove(const tasks::AttemptId& attempt, std::int64_t fence) {
  TRY(call(RemoveCall{attempt, fence}));
  return {};
}

os::Result<void> LocalExecutor::set_gpu_cordon(const std::string& uuid, bool is_cordoned,
                                               const std::string& reason) {
  TRY(call(CordonCall{uuid, is_cordoned, reason}));
  return {};
}

os::Result<std::vector<AttemptStatusReport>> LocalExecutor::wait_changes(
    std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, wait, [&] { return closed_ || !changes_.empty(); });
  if (changes_.empty() && closed_) return os::fail(os::Code::unavailable, "the executor is gone");
  return std::exchange(changes_, {});
}

}  // namespace runner
