// What `check` says: the verdict of an attempt as a task's view, and its exit code.
#pragma once

#include <string>

#include "gates/verdict.h"
#include "runner/cli/ci_report.h"
#include "runner/cli/options.h"
#include "runner/service.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace runner::cli {

// A verdict on evidence, as a view of a task that is done (intent verify).
TaskView view_of_check(const tasks::Evidence& evidence, const gates::Judgement& judgement);

// The view of an attempt that a fault of ours ended: verdict error, class infra.
TaskView view_of_fault(const tasks::Evidence& evidence, const std::string& detail);

// 0 accepted; 8 accepted, but owners must look at guarded files; 1, 3, 9 as for every task.
int exit_code_of_check(const TaskView& view, const gates::Judgement& judgement);

// The verdict for CI systems: findings with the file and line of the test that they are of.
CiReport ci_report_of(const TaskView& view, const tasks::Evidence& evidence);

// The report on standard output, in its form.
std::string check_report(const TaskView& view, const tasks::Evidence& evidence, ReportForm form);

}  // namespace runner::cli
