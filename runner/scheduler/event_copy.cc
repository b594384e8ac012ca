#include "runner/scheduler/event_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/clock.h"
#include "runner/store/attempts.h"
#include "runner/store/events.h"
#include "runner/store/tasks.h"
#include "sandbox/os/ids.h"
#include "sandbox/os/units.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;

// Types that an attempt may add to the sequence; those of tasks are serve's own. A plain name,
// since a line of a stream of events is made of it.
bool is_attempt_type(std::string_view type) {
  constexpr std::array<std::string_view, 6> kKinds{"attempt.",  "run.",  "pair.",
                                                   "checkout.", "test.", "gpu."};
  return os::is_plain_name(type) &&
         std::ranges::any_of(kKinds, [&](std::string_view kind) { return type.starts_with(kind); });
}

// The time that an attempt names, in our own writing; now, where it names none.
std::string time_of(const nlohmann::json& event) {
  const auto time = event.find("time");
  if (time == event.end() || !time->is_string()) return now_text();
  const auto parsed = os::parse_time(time->get_ref<const std::string&>());
  return parsed ? os::format_time(*parsed) : now_text();
}

// The event of one line; an empty type for a line that is none.
store::EventRow event_of(std::string_view line, const store::AttemptRow& attempt) {
  store::EventRow event;
  const os::Result<nlohmann::json> parsed = sandbox::parse_json(line, 4);
  if (!parsed || !parsed->is_object()) return event;
  const auto type = parsed->find("type");
  if (type == parsed->end() || !type->is_string()) return event;
  if (!is_attempt_type(type->get_ref<const std::string&>())) return event;
  const auto data = parsed->find("data");
  event.task = attempt.task;
  event.type = type->get_ref<const std::string&>();
  event.at = time_of(*parsed);
  nlohmann::json values =
      data != parsed->end() && data->is_object() ? *data : nlohmann::json::object();
  values["attempt"] = attempt.id;
  values["fence"] = attempt.fence;
  event.data = sandbox::dump_json(values);
  return event;
}

os::Result<std::string> new_bytes(const ServiceContext& context, const store::AttemptRow& attempt) {
  const os::Result<os::Fd> file =
      os::open_file(attempt_path(context.config, attempt.id, attempt.fence) + "/events.jsonl",
                    O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file && file.error().code == os::Code::not_found) return std::string();
  if (!file) return std::unexpected(file.error());
  std::string bytes(kMostBytes, '\0');
  const ssize_t count = ::pread(file->get(), bytes.data(), bytes.size(), attempt.events_offset);
  if (count < 0) return os::fail_errno("read events.jsonl");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

}  // namespace

os::Result<void> copy_attempt_events(const ServiceContext& context,
                                     const store::AttemptRow& attempt) {
  const std::string bytes = TRY(new_bytes(context, attempt));
  std::string_view left = bytes;
  std::vector<store::EventRow> events;
  for (std::size_t end = left.find('\n'); end != left.npos; end = left.find('\n')) {
    store::EventRow event = event_of(left.substr(0, end), attempt);
    if (!event.type.empty()) events.push_back(std::move(event));
    left.remove_prefix(end + 1);
  }
  const auto used = static_cast<std::int64_t>(bytes.size() - left.size());
  if (used == 0) return {};
  return context.store.write([&](store::Database& database) -> os::Result<void> {
    const auto now = TRY(store::find_attempt(database, attempt.id, attempt.fence));
    // Another round was faster.
    if (!now || now->events_offset != attempt.events_offset) return {};
    const store::TaskRow task = TRY(store::get_task(database, attempt.task));
    for (store::EventRow& event : events) {
      event.project = task.project;
      TRY(store::append_event(database, event));
    }
    return store::set_events_offset(database, attempt, attempt.events_offset + used);
  });
}

}  // namespace runner
