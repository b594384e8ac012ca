// The states of a task: which moves are allowed. Every change of state asks here.
#pragma once

#include "runner/service.h"

namespace runner::store {

// queued -> running | done; running -> queued | awaiting_approval | promoting | done;
// awaiting_approval -> promoting | queued | done; promoting -> done | queued; done is terminal.
bool can_move(TaskState from, TaskState to);

os::Result<TaskState> parse_task_state(std::string_view name);

}  // namespace runner::store
