#include "runner/run_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "runner/store/events.h"
#include "sandbox/os/ids.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

constexpr int kEventsRead = 10'000;

// Lower is shown first.
int rank_of(const tasks::RunRecord& run) {
  const int side = run.key.side == tasks::Side::change  ? 0
                   : run.key.side == tasks::Side::mixed ? 1
                   : run.key.side == tasks::Side::judge ? 2
                                                        : 3;
  return side + (run.key.pair || run.key.rerun ? 10 : 0);
}

// The newest run of the step that an attempt told of, and whether it ended.
struct LivingRun {
  std::string id;
  bool is_finished = false;
};

os::Result<LivingRun> find_living_run(const ServiceContext& context,
                                      const store::AttemptRow& attempt, const std::string& step) {
  const auto events = TRY(context.store.read([&](store::Database& database) {
    return store::events_after(database, attempt.task, 0, kEventsRead);
  }));
  LivingRun run;
  bool is_of_change = false;
  for (const store::EventRow& event : events) {
    if (!event.type.starts_with("run.")) continue;
    const os::Result<nlohmann::json> data = sandbox::parse_json(event.data);
    if (!data || data->value("attempt", std::string()) != attempt.id ||
        data->value("fence", std::int64_t{0}) != attempt.fence)
      continue;
    const auto text = [&](const char* name) {
      const auto found = data->find(name);
      return found != data->end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const std::string id = text("run");
    if (event.type == "run.finished" && id == run.id) run.is_finished = true;
    const bool is_asked = id == step || text("step") == step;
    const bool is_change = text("side") == "change" || id == step;
    if (event.type != "run.started" || !is_asked || (is_of_change && !is_change)) continue;
    is_of_change = is_change;
    run = {.id = id, .is_finished = false};
  }
  return run;
}

}  // namespace

const tasks::RunRecord* run_to_show(const tasks::Evidence& evidence, const std::string& step) {
  const tasks::RunRecord* best = nullptr;
  for (const tasks::RunRecord& run : evidence.runs) {
    if (run.id == step && !run.carried) return &run;
    if (run.key.step.str() != step) continue;
    if (best == nullptr || rank_of(run) < rank_of(*best)) best = &run;
  }
  return best;
}

os::Result<LogChunk> read_kept_log(const EvidenceFolder& folder, const tasks::RunRecord& run,
                                   LogWindow window) {
  LogChunk chunk;
  chunk.total = run.log.bytes;
  chunk.omitted = run.log.omitted;
  chunk.finished = true;
  chunk.offset = window.offset;
  if (run.log.head_sha256.empty()) return chunk;
  const auto limit = static_cast<std::size_t>(window.limit);
  const EvidenceFolder::Part head = TRY(folder.get_part(run.log.head_sha256, window.offset, limit));
  chunk.bytes = head.bytes;
  if (!chunk.bytes.empty() || run.log.tail_sha256.empty()) return chunk;
  const std::int64_t tail_begin = head.size + run.log.omitted;
  chunk.offset = std::max(window.offset, tail_begin);
  chunk.bytes = TRY(folder.get_part(run.log.tail_sha256, chunk.offset - tail_begin, limit)).bytes;
  return chunk;
}

os::Result<LogChunk> read_living_log(const ServiceContext& context,
                                     const store::AttemptRow& attempt, const std::string& step,
                                     LogWindow window) {
  LogChunk chunk;
  chunk.offset = window.offset;
  const LivingRun run = TRY(find_living_run(context, attempt, step));
  // A run's id is part of a path: nothing but a plain name will do.
  if (run.id.empty() || !os::is_plain_name(run.id)) return chunk;
  chunk.finished = run.is_finished;
  const os::Fd directory = TRY(os::open_file(
      attempt_path(context.config, attempt.id, attempt.fence), O_RDONLY | O_DIRECTORY));
  const os::Result<os::Fd> head =
      os::open_beneath(directory.get(), "runs/" + run.id + "/head", O_RDONLY | O_NONBLOCK);
  if (!head) return chunk;
  struct stat info{};
  if (::fstat(head->get(), &info) != 0 || !S_ISREG(info.st_mode)) return chunk;
  chunk.total = info.st_size;
  if (window.offset >= chunk.total) return chunk;
  chunk.bytes.resize(static_cast<std::size_t>(std::min(window.limit, chunk.total - window.offset)));
  const ssize_t count = ::pread(head->get(), chunk.bytes.data(), chunk.bytes.size(), window.offset);
  if (count < 0) return os::fail_errno("read the log of " + run.id);
  chunk.bytes.resize(static_cast<std::size_t>(count));
  return chunk;
}

}  // namespace runner
