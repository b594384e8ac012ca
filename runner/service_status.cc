// Status: why a task waits, whether the service is ready, what the machine has left.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runner/promotion/approval_rules.h"
#include "runner/service_core.h"
#include "runner/store/approvals.h"
#include "runner/store/attempts.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"

namespace runner {
namespace {

std::string sentence_of(int count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

Why why_queued(const store::TaskRow& task, const std::vector<store::TaskRow>& queued,
               const MachineState& machine, bool is_draining) {
  if (is_draining)
    return {"draining", "the server starts nothing: it is being shut down",
            "wait until it is back: the task is kept"};
  if (!machine.probe)
    return {"executor", "the executor does not answer: " + machine.problem,
            "ask the operator to look at the server"};
  if (!machine.probe->missing.empty())
    return {"sandbox", "the sandbox lacks " + machine.probe->missing.front(),
            "ask the operator to run `proofhouse doctor`"};
  const auto before = std::ranges::count_if(queued, [&](const store::TaskRow& other) {
    return std::pair(priority_rank(other.priority), other.sequence) <
           std::pair(priority_rank(task.priority), task.sequence);
  });
  const bool fits = std::cmp_less_equal(task.cpus, machine.free.cpus.size()) &&
                    task.memory <= machine.free.memory;
  if (fits && before == 0) return {"starting", "it is about to start", "nothing: wait"};
  if (before > 0 && fits)
    return {"queue", sentence_of(static_cast<int>(before), "task") + " before it",
            "wait, or submit with a higher priority"};
  return {"resources",
          "it needs " + sentence_of(task.cpus, "CPU") + " and " +
              os::format_bytes(os::Bytes{static_cast<std::uint64_t>(task.memory)}) + "; free: " +
              sentence_of(static_cast<int>(machine.free.cpus.size()), "CPU") + " and " +
              os::format_bytes(os::Bytes{
                  static_cast<std::uint64_t>(std::max<std::int64_t>(machine.free.memory, 0))}) +
              "; " + sentence_of(static_cast<int>(before), "task") + " before it",
          "wait until what runs has ended"};
}

Why why_approval(const store::TaskRow& task, const tasks::Policy& policy,
                 const std::vector<store::ApprovalRow>& given) {
  gates::Judgement judgement;
  if (auto kept = gates::judgement_from_json(task.judgement)) judgement = std::move(*kept);
  const ApprovalNeed need = approval_need(policy, task.change.guarded, judgement);
  const Missing missing = missing_approvals(
      need,
      counting_approvals(
          given, {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256},
          need.asks));
  std::string text =
      "it waits for " + sentence_of(std::max(missing.approvals, missing.owners), "approval");
  if (missing.owners > 0) text += ", " + std::to_string(missing.owners) + " of them by owners";
  if (judgement.waits_for_owners) text += ": the base's checks could not be run against the change";
  for (const std::string& ask : need.asks) text += "; gate '" + ask + "' has to be named";
  for (const std::string& gate : need.overrides)
    text += "; gate '" + gate + "' did not pass, owners override it by name";
  return {"approval", text,
          "ask a reviewer who is not of the author's owner chain: proofhouse approve " + task.id};
}

// `problem` of the first in the queue.
Why why_promoting(const store::TaskRow& task, const std::vector<store::TaskRow>& queue,
                  const std::string& problem) {
  const auto place = std::ranges::find(queue, task.id, &store::TaskRow::id);
  const bool is_first = place == queue.begin() || place == queue.end();
  if (is_first && problem.empty())
    return {"promoting", "the target is being moved", "nothing: wait"};
  if (is_first) return {"promotion", problem, "it is tried again; ask the operator if it stays so"};
  const store::TaskRow& first = queue.front();
  std::string text = sentence_of(static_cast<int>(place - queue.begin()), "change") +
                     " of the project before it; the first, " + first.id + ", is ";
  text += first.state == TaskState::promoting ? "being landed" : "being tested on the new tip";
  if (!problem.empty()) text += " (" + problem + ")";
  return {"promotion_queue", text, "nothing: it is tested on the then tip when its turn comes"};
}

}  // namespace

Answer<Why> ServiceCore::why(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  switch (task.state) {
    case TaskState::queued: {
      const auto queued = ASK(store_->read([](store::Database& database) {
        return store::tasks_in_state(database, TaskState::queued);
      }));
      return why_queued(task, queued, scheduler_.machine(), scheduler_.is_draining());
    }
    case TaskState::running: {
      const auto attempts = ASK(store_->read(
          [&](store::Database& database) { return store::attempts_of(database, id); }));
      const std::string since = attempts.empty() ? task.updated_at : attempts.back().started_at;
      if (!task.cancel_by.empty())
        return Why{"cancelling", "it is being cancelled", "nothing: wait"};
      if (const auto gpu = ASK(why_gpus(id))) return *gpu;
      return Why{"running",
                 "its steps run since " + since + " (attempt " + std::to_string(task.fence) + ")",
                 "follow its events or a step's log"};
    }
    case TaskState::awaiting_approval: {
      const tasks::Policy policy = ASK(policies_.get(task.policy_sha256));
      const auto given = ASK(store_->read(
          [&](store::Database& database) { return store::approvals_of(database, id); }));
      return why_approval(task, policy, given);
    }
    case TaskState::promoting: {
      const auto queue = ASK(store_->read(
          [&](store::Database& database) { return store::landing_queue(database, task.project); }));
      const auto project = ASK(store_->read(
          [&](store::Database& database) { return store::find_project(database, task.project); }));
      if (project && !project->project.frozen.empty())
        return Why{"frozen", "the project is frozen: " + project->project.frozen,
                   "ask an owner: proofhouse project unfreeze " + task.project};
      return why_promoting(task, queue, queue.empty() ? "" : promoter_.problem_of(queue[0].id));
    }
    case TaskState::done: {
      const TaskView view = ASK(view_of(task));
      const std::string text =
          view.reason.text.empty() ? "it ended: " + view.verdict : view.reason.text;
      return Why{"done", text, view.next_step};
    }
  }
  return refuse("internal", "the task is in no state");
}

Readiness ServiceCore::readiness() {
  Readiness readiness;
  const MachineState machine = scheduler_.machine();
  if (!machine.probe) {
    readiness.problems.push_back("executor: does not answer (" + machine.problem +
                                 "); start it, or restart serve");
  } else {
    for (const std::string& missing : machine.probe->missing)
      readiness.problems.push_back("sandbox: " + missing + " is missing; run `proofhouse doctor`");
  }
  if (scheduler_.is_draining())
    readiness.problems.emplace_back("draining: no new tasks; restart serve");
  const auto disk = disk_use_millionths(config_);
  if (disk && *disk > config_.disk_high_water_millionths)
    readiness.problems.emplace_back("disk: fuller than disk.high_water; make room");
  const auto database = store_->read(
      [](store::Database& opened) { return store::count_tasks(opened, TaskState::queued); });
  if (!database) readiness.problems.push_back("database: " + database.error().message);
  readiness.ready = readiness.problems.empty();
  return readiness;
}

Answer<MachineView> ServiceCore::machine(const Actor& actor) {
  if (actor.grants.empty())
    return refuse("forbidden", "you have no role here", "ask an administrator for a grant");
  const MachineState machine = scheduler_.machine();
  MachineView view;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) view.host = host.data();
  if (machine.probe) {
    view.level = machine.probe->level;
    view.cpus = static_cast<int>(machine.probe->cpus.size());
    view.memory = static_cast<std::int64_t>(machine.probe->memory.count);
  }
  view.cpus_free = static_cast<int>(machine.free.cpus.size());
  view.memory_free = std::max<std::int64_t>(machine.free.memory, 0);
  ASK(store_->read([&](store::Database& database) -> os::Result<void> {
    view.queued = TRY(store::count_tasks(database, TaskState::queued));
    view.running = TRY(store::count_tasks(database, TaskState::running));
    return {};
  }));
  return view;
}

}  // namespace runner
