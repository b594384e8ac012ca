#include "tasks/event_log.h"

#include <fcntl.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "sandbox/os/units.h"
#include "sandbox/wire.h"

namespace tasks {
namespace {

// Long values are cut so that a line stays below one atomic write.
constexpr std::size_t kValueLimit = 512;
constexpr std::size_t kLineLimit = 4096;

}  // namespace

os::Result<EventLog> EventLog::open(int attempt_directory, std::string attempt,
                                    std::int64_t fence) {
  os::Fd file =
      TRY(os::open_beneath(attempt_directory, "events.jsonl", O_WRONLY | O_CREAT | O_APPEND, 0640));
  return EventLog(std::move(file), std::move(attempt), fence);
}

void EventLog::append(std::string_view type, const std::map<std::string, std::string>& data) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, value] : data) values[name] = value.substr(0, kValueLimit);
  const nlohmann::json line{
      {"seq", ++sequence_},  {"time", os::format_time(std::chrono::system_clock::now())},
      {"attempt", attempt_}, {"fence", fence_},
      {"type", type},        {"data", values}};
  std::string text = sandbox::dump_json(line);
  if (text.size() >= kLineLimit) return;
  text += '\n';
  static_cast<void>(os::write_all(file_.get(), text).has_value());
}

}  // namespace tasks
