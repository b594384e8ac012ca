#include "tasks/step_runner.h"

#include <fcntl.h>

#include <algorithm>

#include "sandbox/environment.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/measured_pair.h"
#include "tasks/output_manifest.h"
#include "tasks/pair_conditions.h"

namespace tasks {
namespace {

using std::chrono::milliseconds;

constexpr os::Bytes kReportLimit{64ULL << 20U};
constexpr os::Bytes kParsedLimit{16ULL << 20U};

sandbox::Domain domain_of(Side side) {
  switch (side) {
    case Side::base:
      return sandbox::Domain::base;
    case Side::change:
    case Side::mixed:
      return sandbox::Domain::change;
    case Side::judge:
      return sandbox::Domain::judge;
  }
  return sandbox::Domain::change;
}

std::string tree_of(const IngestResult& change, Side side) {
  switch (side) {
    case Side::base:
    case Side::judge:
      return change.base_tree.hex();
    case Side::change:
      return change.tree.hex();
    case Side::mixed:
      return change.mixed_tree ? change.mixed_tree->hex() : std::string();
  }
  return {};
}

std::vector<std::string> environment_of(const RunKey& key, const Step& step,
                                        const std::string& seed, int calls,
                                        const std::vector<std::string>& only) {
  std::map<std::string, std::string> values = sandbox::default_environment(step.limits);
  for (const auto& [name, value] : step.environment) values[name] = value;
  if (!seed.empty()) values["PROOFHOUSE_SEED"] = seed;
  if (calls > 0) values["PROOFHOUSE_CALLS"] = std::to_string(calls);
  set_conditions(key, only, values);
  std::vector<std::string> list;
  for (const auto& [name, value] : values) list.push_back(name + "=" + value);
  return list;
}

// A step that another step of its side needs for order leaves its writes to it.
bool is_needed_in_order(const Policy& policy, const StepName& name) {
  const Step* const needed = policy.find_step(name);
  if (needed == nullptr || needed->interact) return false;
  return std::ranges::any_of(policy.steps, [&](const Step& step) {
    return std::ranges::any_of(
        step.needs, [&](const Need& need) { return need.step == name && need.output.empty(); });
  });
}

std::string trim_directory(const std::string& path) {
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

// Of the runs that an outside clock measures only those are looked at whose answers are judged.
bool is_looked_at(const RunKey& key) {
  return !key.leg || (key.leg == 1 && key.side != Side::base);
}

std::map<std::string, std::string> event_data(const RunKey& key, const std::string& id) {
  std::map<std::string, std::string> data{{"run", id},
                                          {"side", std::string(side_name(key.side))},
                                          {"of", std::string(side_name(key.of))},
                                          {"step", key.step.str()}};
  if (key.pair) data["pair"] = std::to_string(*key.pair);
  if (key.leg) data["leg"] = std::to_string(*key.leg);
  if (key.variant != Variant::plain) data["variant"] = variant_name(key.variant);
  if (key.rerun) data["rerun"] = std::to_string(*key.rerun);
  return data;
}

}  // namespace

StepRunner::StepRunner(StepRunnerContext context, const std::vector<RunRecord>& carried)
    : context_(context),
      base_is_carried_(!carried.empty()),
      gpus_(context.gpus, context.events, context.cancel_fd) {}

std::string StepRunner::next_id() {
  std::string digits = std::to_string(++counter_);
  return "r" + std::string(4 - std::min<std::size_t>(4, digits.size()), '0') + digits;
}

os::Result<StepRunner::Workspace*> StepRunner::workspace_for(const RunKey& key) {
  std::string name(side_name(key.side));
  if (key.side == Side::judge) name += "-" + std::string(side_name(key.of));
  const bool is_relinked = key.variant == Variant::relinked;
  if (is_relinked) name += "-" + std::string(variant_name(key.variant));
  const auto found = workspaces_.find(name);
  if (found != workspaces_.end()) return &found->second;
  sandbox::WorkspaceRequest request;
  request.name = name;
  request.domain = domain_of(key.side);
  request.tree = tree_of(context_.plan.change, key.side);
  if (request.tree.empty()) return os::fail(os::Code::internal, "no tree for side " + name);
  if (key.side == Side::base && base_is_carried_ && !is_relinked)
    request.layer = context_.plan.layer;
  request.disk = context_.policy.limits.disk;
  request.inodes = context_.policy.limits.inodes;
  TRY_CONTEXT(context_.jail.open_workspace(request), "open workspace " + name);
  return &(workspaces_[name] = Workspace{.name = name});
}

os::Result<sandbox::RunRequest> StepRunner::request_for(const RunKey& key, const Step& step,
                                                        const std::string& id,
                                                        const std::string& seed,
                                                        const std::vector<std::string>& only) {
  const Workspace& workspace = *TRY(workspace_for(key));
  const bool is_shared = !key.pair && !key.rerun && is_needed_in_order(context_.policy, step.name);
  sandbox::RunRequest request;
  request.id = id;
  request.domain = domain_of(key.side);
  request.workspace = workspace.name;
  request.mode = is_shared ? sandbox::WorkspaceMode::shared : sandbox::WorkspaceMode::scratch;
  request.command = {"/bin/sh", "-euc", step.run};
  request.environment = environment_of(key, step, seed, calls_of(context_.policy, key), only);
  request.limits = step.limits;
  const auto left = std::chrono::duration_cast<milliseconds>(context_.deadline -
                                                             std::chrono::steady_clock::now());
  request.limits.wall = std::clamp(left, milliseconds(1), step.limits.wall);
  for (const Need& need : step.needs) {
    if (need.output.empty()) continue;
    request.mounts.push_back({sandbox::MountSource::output,
                              TRY(source_of(key, need)) + "/" + need.output,
                              "/needs/" + need.step.str() + "." + need.output});
  }
  int number = 0;
  for (const ReportSpec& report : step.reports) {
    request.clear.push_back(report.path);
    request.collect.push_back({.name = "report-" + std::to_string(number++),
                               .path = report.path,
                               .from_out = false,
                               .is_directory = false,
                               .limit = kReportLimit,
                               .files = 1});
  }
  for (const auto& [name, path] : step.outputs) {
    request.clear.push_back(trim_directory(path));
    if (!is_looked_at(key)) continue;
    request.collect.push_back({.name = name,
                               .path = trim_directory(path),
                               .from_out = false,
                               .is_directory = path.ends_with('/'),
                               .limit = step.limits.disk,
                               .files = 10'000});
  }
  return request;
}

os::Result<std::string> StepRunner::source_of(const RunKey& key, const Need& need) const {
  for (const RunKey& source : sources_of(context_.policy, key, need)) {
    const auto run = run_ids_.find(source);
    if (run != run_ids_.end()) return run->second;
  }
  return os::fail(os::Code::internal, "step " + key.step.str() + " needs the output of " +
                                          need.step.str() + ", which has not run");
}

os::Result<StepRunner::Prepared> StepRunner::prepare(const RunKey& key, const Step& step, int order,
                                                     const std::vector<std::string>& only) {
  Prepared prepared{.step = &step, .record = {}, .request = {}};
  RunRecord& record = prepared.record;
  record.key = key;
  record.id = next_id();
  record.order = order;
  // Drawn now and not earlier: what was built before cannot know it.
  if (step.from_base) {
    std::string& seed = seeds_[{step.name, key.pair}];
    if (seed.empty()) seed = os::random_hex(8);
    record.seed = seed;
  }
  prepared.request = TRY(request_for(key, step, record.id, record.seed, only));
  return prepared;
}

os::Result<std::vector<RunRecord>> StepRunner::run(const RunKey& key, int order,
                                                   const std::vector<std::string>& only) {
  const Step* const step = context_.policy.find_step(key.step);
  if (step == nullptr) return os::fail(os::Code::internal, "no step " + key.step.str());
  Prepared main = TRY(prepare(key, *step, order, only));
  const Step* const partner = context_.policy.find_partner(*step);
  std::optional<Prepared> beside;
  if (partner != nullptr) {
    RunKey other = key;
    other.side = key.of;
    other.step = partner->name;
    beside = TRY(prepare(other, *partner, order, only));
  }
  const sandbox::RunResult result = TRY(execute(main, beside ? &*beside : nullptr));
  if (result.beside.size() != main.request.beside.size())
    return os::fail(os::Code::corrupt, "the jail answered for another number of runs");
  std::vector<RunRecord> records;
  if (beside) records.push_back(TRY(take(std::move(*beside), result.beside.front())));
  records.push_back(TRY(take(std::move(main), result)));
  return records;
}

os::Result<sandbox::RunResult> StepRunner::execute(Prepared& main, Prepared* beside) {
  std::vector<Prepared*> runs{&main};
  if (beside != nullptr) runs.push_back(beside);
  // At most one of two asks (policy_rules.cc): no attempt waits for GPUs while it holds others.
  for (Prepared* const run : runs)
    context_.deadline += TRY(gpus_.lease(*run->step, run->request, run->record));
  if (beside != nullptr) main.request.beside = {beside->request};
  for (const Prepared* const run : runs)
    context_.events.append("run.started", event_data(run->record.key, run->record.id));
  const MachineWatch watch(context_.plan.cpus);
  os::Result<sandbox::RunResult> result = context_.jail.run(main.request, context_.cancel_fd);
  if (main.record.key.pair) main.record.disturbances = watch.disturbances();
  os::Result<void> ended;
  for (Prepared* const run : runs)
    if (os::Result<void> end = gpus_.end(run->record); !end) ended = std::move(end);
  sandbox::RunResult done = TRY_CONTEXT(std::move(result), "run step " + main.step->name.str());
  TRY(ended);
  return done;
}

os::Result<RunRecord> StepRunner::take(Prepared prepared, const sandbox::RunResult& result) {
  RunRecord record = std::move(prepared.record);
  const RunKey& key = record.key;
  record.outcome = result.outcome;
  record.limits_hit = result.limits_hit;
  record.usage = result.usage;
  // Those of its GPUs are there already.
  record.level = record.gaps.empty() ? result.level : "reduced";
  record.gaps.insert(record.gaps.end(), result.gaps.begin(), result.gaps.end());
  TRY(take_log(result, record));
  if (result.outcome.kind != sandbox::OutcomeKind::setup_failed &&
      result.outcome.kind != sandbox::OutcomeKind::cancelled) {
    TRY(take_reports(*prepared.step, result, record));
    TRY(take_outputs(result, record));
  }
  if (!key.rerun) run_ids_[key] = record.id;
  Workspace& workspace = *TRY(workspace_for(key));
  if (prepared.request.mode == sandbox::WorkspaceMode::shared) {
    workspace.has_writes = true;
    workspace.is_sound = workspace.is_sound && record.outcome.is_success();
  }
  std::map<std::string, std::string> data = event_data(key, record.id);
  data["outcome"] = sandbox::describe(record.outcome);
  data["wall_ms"] = std::to_string(record.usage.wall_ms);
  context_.events.append("run.finished", data);
  return record;
}

os::Result<void> StepRunner::take_log(const sandbox::RunResult& result, RunRecord& record) {
  const std::string directory = "runs/" + record.id + "/";
  record.log.bytes = result.output_bytes;
  record.log.omitted = result.output_bytes - result.head_bytes - result.tail_bytes;
  const std::size_t limit = 64U << 20U;
  if (result.head_bytes > 0)
    record.log.head_sha256 = TRY(context_.store.put_file(directory + "head", limit));
  if (result.tail_bytes > 0)
    record.log.tail_sha256 = TRY(context_.store.put_file(directory + "tail", limit));
  return {};
}

os::Result<void> StepRunner::take_reports(const Step& step, const sandbox::RunResult& result,
                                          RunRecord& record) {
  for (std::size_t i = 0; i < step.reports.size(); ++i) {
    ReportRecord report;
    report.format = step.reports[i].format;
    report.path = step.reports[i].path;
    const std::string name = "report-" + std::to_string(i);
    const auto collected = std::ranges::find(result.collected, name, &sandbox::Collected::name);
    if (collected == result.collected.end()) {
      report.error = "missing";
    } else if (!collected->error.empty()) {
      report.error = collected->error;
    } else {
      report.raw_sha256 = TRY(context_.store.put_file(collected->path, kReportLimit.count));
      TRY(parse_report(collected->path, report));
    }
    record.reports.push_back(std::move(report));
  }
  return {};
}

sandbox::RunRequest StepRunner::reader_request(std::vector<std::string> command) {
  sandbox::RunRequest request;
  request.id = next_id();
  request.domain = sandbox::Domain::reader;
  request.profile = sandbox::Profile::strict;
  request.command = std::move(command);
  request.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"};
  request.limits.memory = kReaderMemory;
  request.limits.disk = os::Bytes{1ULL << 20U};
  request.limits.pids = 4;
  request.limits.wall = milliseconds(20'000);
  request.limits.idle = milliseconds(0);
  request.limits.keep = os::Bytes{2 * kParsedLimit.count};
  request.limits.output = os::Bytes{2 * kParsedLimit.count};
  request.separate_error_output = true;
  return request;
}

os::Result<void> StepRunner::parse_report(const std::string& collected, ReportRecord& record) {
  sandbox::RunRequest request =
      reader_request({"/proofhouse/reader", std::string(report_format_name(record.format)),
                      "/in/report", record.path});
  request.mounts.push_back({sandbox::MountSource::input, collected, "/in/report"});
  const sandbox::RunResult result =
      TRY_CONTEXT(context_.jail.run(request, context_.cancel_fd), "read report " + record.path);
  if (result.outcome.kind == sandbox::OutcomeKind::setup_failed)
    return os::fail(os::Code::unavailable, "reader: " + sandbox::describe(result.outcome));
  if (!result.outcome.is_success() || result.tail_bytes > 0) {
    record.error = "unreadable: the reader " + sandbox::describe(result.outcome);
    return {};
  }
  const std::string json = TRY(os::read_file_at(
      context_.attempt_directory, "runs/" + request.id + "/head", kParsedLimit.count));
  os::Result<ParsedReport> parsed = report_from_json(json);
  if (!parsed) {
    record.error = "unreadable: " + parsed.error().message;
    return {};
  }
  record.parsed_sha256 = TRY(context_.store.put(json));
  record.error = parsed->error;
  record.parsed = std::move(*parsed);
  return {};
}

os::Result<void> StepRunner::take_outputs(const sandbox::RunResult& result, RunRecord& record) {
  for (const sandbox::Collected& collected : result.collected) {
    if (collected.name.starts_with("report-")) continue;
    OutputRecord output;
    output.name = collected.name;
    output.error = collected.error;
    output.files = collected.files;
    output.bytes = collected.bytes;
    if (output.error.empty())
      output.sha256 = TRY(output_digest(context_.attempt_directory, collected.path));
    record.outputs.push_back(std::move(output));
  }
  return {};
}

os::Result<void> StepRunner::keep_base_layer() {
  const auto base = workspaces_.find(std::string(side_name(Side::base)));
  if (base == workspaces_.end() || base_is_carried_ || context_.plan.layer.empty()) return {};
  if (!base->second.is_sound || !base->second.has_writes) return {};
  return context_.jail.keep_layer({.workspace = base->second.name, .key = context_.plan.layer});
}

}  // namespace tasks
