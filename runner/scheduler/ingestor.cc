#include "runner/scheduler/ingestor.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/log.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The jailed commands of an ingest end after 5 s each; the rest is starting them on a busy machine.
constexpr seconds kIngestWait{20};
// How long a POST waits for its turn among other ingests.
constexpr seconds kTurnWait{10};
constexpr std::size_t kIngestResultLimit = 64U << 20U;
constexpr std::size_t kTextLimit = 256U << 20U;
constexpr std::size_t kPackLimit = 1U << 30U;
constexpr std::int64_t kFence = 1;

os::Result<void> write_input(const std::string& path, std::string_view bytes) {
  const os::Fd file = TRY(os::open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  return os::write_all(file.get(), bytes);
}

}  // namespace

// The attempt's directory; noted as done when nobody needs it any more.
struct Ingested::Directory {
  using Done = std::shared_ptr<os::Guarded<std::vector<std::string>>>;
  Directory(const Config& of, std::string id, Done list)
      : config(of), attempt(std::move(id)), done(std::move(list)) {}
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    done->with([this](std::vector<std::string>& attempts) { attempts.push_back(attempt); });
  }
  os::Result<os::Fd> open() const {
    return os::open_file(attempt_path(config, attempt, kFence), O_RDONLY | O_DIRECTORY);
  }

  const Config& config;
  std::string attempt;
  Done done;
};

os::Result<std::string> Ingested::policy_json() const {
  const os::Fd directory = TRY(directory_->open());
  return os::read_file_at(directory.get(), "out/policy.json", kTextLimit);
}

os::Result<std::string> Ingested::diff() const {
  const os::Fd directory = TRY(directory_->open());
  os::Result<std::string> diff = os::read_file_at(directory.get(), "out/diff.patch", kTextLimit);
  // Nothing changed: nothing to show.
  if (!diff && diff.error().code == os::Code::not_found) return std::string();
  return diff;
}

os::Result<std::string> Ingested::diff_view() const {
  const os::Fd directory = TRY(directory_->open());
  return os::read_file_at(directory.get(), "out/diff.json", kTextLimit);
}

os::Result<void> Ingested::keep_objects(const Config& config, const std::string& task) const {
  const std::string target = quarantine_path(config, task);
  TRY(os::make_directories(target, 0700));
  const os::Fd directory = TRY(directory_->open());
  for (const std::string kind : {".pack", ".idx"}) {
    // No pack: the project has every object already.
    TRY(copy_file_beneath(directory.get(), "out/candidate" + kind,
                          target + "/" + result.candidate.hex() + kind, kPackLimit));
  }
  return {};
}

struct Ingestor::Gate {
  std::mutex mutex;
  std::condition_variable freed;
  int under_way = 0;
};

Ingestor::Ingestor(const ServiceContext& context, AttemptWatch& watch)
    : context_(context),
      watch_(watch),
      gate_(std::make_unique<Gate>()),
      done_(std::make_shared<os::Guarded<std::vector<std::string>>>()) {}

Ingestor::~Ingestor() = default;

os::Result<Ingested> Ingestor::take(const IngestOrder& order) {
  {
    std::unique_lock lock(gate_->mutex);
    const bool is_free = gate_->freed.wait_for(
        lock, kTurnWait, [this] { return gate_->under_way < context_.config.caps.ingests; });
    if (!is_free) return os::fail(os::Code::exhausted, "too many changes are being taken in");
    ++gate_->under_way;
  }
  Ingested ingested;
  const std::string attempt = "a_" + os::make_ulid();
  ingested.directory_ = std::make_shared<Ingested::Directory>(context_.config, attempt, done_);
  os::Result<tasks::Evidence> evidence = run(order, attempt);
  {
    const std::scoped_lock lock(gate_->mutex);
    --gate_->under_way;
  }
  gate_->freed.notify_one();
  if (!evidence) return std::unexpected(evidence.error());
  ingested.result = evidence->change;
  // A tree that was there already may have been swept since.
  if (!ingested.result.refusal)
    TRY_CONTEXT(context_.trees.use(tasks::trees_of(ingested.result)), "submit the change again");
  return ingested;
}

void Ingestor::remove_ended() {
  auto attempts = done_->with([](std::vector<std::string>& list) {
    return std::exchange(list, std::vector<std::string>{});
  });
  for (const std::string& attempt : attempts) {
    watch_.forget({attempt, kFence});
    const os::Result<void> removed = context_.executor.remove(tasks::AttemptId(attempt), kFence);
    if (removed || removed.error().code == os::Code::not_found)
      ::rmdir((context_.config.data + "/attempts/" + attempt).c_str());
    else
      done_->with([&](std::vector<std::string>& list) { list.push_back(attempt); });
  }
}

os::Result<void> Ingestor::stage(const IngestOrder& order, const std::string& attempt,
                                 const std::string& directory) {
  TRY(os::make_directories(context_.config.data + "/attempts/" + attempt, 0711));
  TRY(os::make_directories(directory + "/in", 0755));
  tasks::Plan plan;
  plan.instance = context_.instance;
  plan.task = order.task;
  plan.attempt = attempt;
  plan.fence = kFence;
  plan.created_at = now_text();
  plan.deadline_at = time_text_after(kIngestWait);
  plan.kind = tasks::AttemptKind::ingest;
  plan.intent = order.intent;
  plan.ingest = order.spec;
  plan.ingest.have_trees = context_.trees.list();
  plan.memory = kIngestMemory;
  if (order.spec.source == tasks::IngestSpec::Source::patch) {
    plan.ingest.patch_file = "in/change.patch";
    TRY(write_input(directory + "/in/change.patch", order.patch));
  }
  if (!order.policy_yaml.empty()) {
    plan.ingest.policy_file = "in/policy.yaml";
    TRY(write_input(directory + "/in/policy.yaml", order.policy_yaml));
  }
  if (!order.pack.empty()) {
    plan.ingest.pack_file = "in/objects.pack";
    const std::size_t slash = order.pack.rfind('/');
    const os::Fd parent = TRY(os::open_file(order.pack.substr(0, slash), O_RDONLY | O_DIRECTORY));
    const bool is_there = TRY(copy_file_beneath(parent.get(), order.pack.substr(slash + 1),
                                                directory + "/in/objects.pack", kPackLimit));
    if (!is_there) return os::fail(os::Code::not_found, "the pack is gone: send it again");
  }
  return os::write_file_durably(directory + "/plan.json", tasks::plan_to_json(plan), 0644);
}

os::Result<tasks::Evidence> Ingestor::run(const IngestOrder& order, const std::string& attempt) {
  const std::string directory = attempt_path(context_.config, attempt, kFence);
  TRY(stage(order, attempt, directory));
  AttemptStart start;
  start.attempt = tasks::AttemptId(attempt);
  start.fence = kFence;
  start.kind = tasks::AttemptKind::ingest;
  start.memory = kIngestMemory;
  start.repository = order.repository;
  TRY_CONTEXT(context_.executor.start(start), "start the ingest");
  const std::string result_path = directory + "/result.json";
  const bool is_over = watch_.wait_end({attempt, kFence}, kIngestWait,
                                       [&] { return ::access(result_path.c_str(), F_OK) == 0; });
  if (!is_over) {
    static_cast<void>(
        context_.executor.cancel(tasks::AttemptId(attempt), kFence, milliseconds(0)).has_value());
    return os::fail(os::Code::timeout, "taking the change in took longer than 20 s");
  }
  const os::Result<std::string> bytes = os::read_file(result_path, kIngestResultLimit);
  if (!bytes) return os::fail(os::Code::unavailable, "the ingest ended without a result");
  tasks::Evidence evidence = TRY(tasks::evidence_from_json(*bytes));
  if (evidence.attempt != attempt || evidence.fence != kFence || evidence.task != order.task)
    return os::fail(os::Code::corrupt, "the ingest answered for another attempt");
  if (evidence.status == tasks::AttemptStatus::infra)
    return os::fail(os::Code::unavailable,
                    evidence.infra ? evidence.infra->detail : "the ingest had a fault");
  if (evidence.status == tasks::AttemptStatus::cancelled)
    return os::fail(os::Code::unavailable, "the ingest was stopped");
  return evidence;
}

}  // namespace runner
