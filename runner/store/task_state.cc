#include "runner/store/task_state.h"

#include <array>
#include <string>

namespace runner::store {

bool can_move(TaskState from, TaskState to) {
  switch (from) {
    case TaskState::queued:
      return to == TaskState::running || to == TaskState::done;
    case TaskState::running:
      return to == TaskState::queued || to == TaskState::awaiting_approval ||
             to == TaskState::promoting || to == TaskState::done;
    case TaskState::awaiting_approval:
      return to == TaskState::promoting || to == TaskState::queued || to == TaskState::done;
    case TaskState::promoting:
      return to == TaskState::done || to == TaskState::queued;
    case TaskState::done:
      // An owner overrides what the gates said.
      return to == TaskState::awaiting_approval;
  }
  return false;
}

os::Result<TaskState> parse_task_state(std::string_view name) {
  for (const TaskState state : {TaskState::queued, TaskState::running, TaskState::awaiting_approval,
                                TaskState::promoting, TaskState::done}) {
    if (task_state_name(state) == name) return state;
  }
  return os::fail(os::Code::invalid, "no state is called '" + std::string(name) + "'");
}

}  // namespace runner::store
