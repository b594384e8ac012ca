// Tasks as text for people. Everything in it is escaped.
#pragma once

#include <string>
#include <vector>

#include "runner/cli/answers.h"

namespace runner::cli {

// "accepted, promoted", "rejected (test)", "running".
std::string end_words(const TaskAnswer& task);

// All that matters of a task, several lines.
std::string task_text(const TaskAnswer& task);

// A table of tasks, one line each, the header first.
std::string task_table(const std::vector<TaskAnswer>& tasks);

// Rows with columns of equal width; the last column is as long as it is.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace runner::cli
