// Options: each command of the command line as a value, checked as far as text can be.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runner/cli/gpu_options.h"
#include "runner/cli/policy_options.h"
#include "runner/cli/proof_options.h"
#include "runner/cli/server_address.h"

namespace runner::cli {

using std::chrono::milliseconds;

struct ServeCommand {
  std::string config;           // path; empty: all defaults
  std::string executor_socket;  // of a running executor; empty: starts its own (root)
};

struct ExecutorCommand {
  std::string config;       // path; empty: all defaults
  std::string socket;       // path to listen at
  bool is_private = false;  // options and client are given as descriptors (private_executor.h)
};

struct GitHelperCommand {};

// submit, and run (intent run). Files are read when the command runs.
struct SubmitCommand {
  ServerFlags server;
  std::string project;
  std::string base;        // commit, empty: the target's tip
  std::string patch_file;  // "-": standard input
  std::string commit;      // revision in the repository around the working directory
  std::string intent = "promote";
  std::string title;
  std::string claim_text;
  std::vector<std::string> fixes, removes, faster;
  std::vector<std::string> steps;  // intent run
  std::string priority = "normal";
  std::string family;
  std::string key;  // idempotency key, empty: a random one
  bool wait = false;
  milliseconds timeout{0};  // of the wait; 0: none
};

struct WaitCommand {
  ServerFlags server;
  std::string task;
  milliseconds timeout{0};  // 0: none
  bool until_done = false;  // goes on while a task awaits its approval
};

struct ShowCommand {
  ServerFlags server;
  std::string task;
};

struct LogsCommand {
  ServerFlags server;
  std::string task;
  std::string step;  // empty: the task's steps are listed
  bool follow = false;
  bool raw = false;  // the bytes as they are
};

struct CancelCommand {
  ServerFlags server;
  std::string task;
};

struct ListCommand {
  ServerFlags server;
  std::string project, state, principal;
  int limit = 50;
};

struct WhyCommand {
  ServerFlags server;
  std::string task;
};

struct RejudgeCommand {
  ServerFlags server;
  std::string task;
};

struct DecideCommand {
  ServerFlags server;
  std::string task;
  bool approves = true;
  bool abstains = false;               // neither approves nor refuses
  std::string commit;                  // the candidate that was reviewed
  std::vector<std::string> gates;      // inconclusive gates accepted by name
  std::vector<std::string> overrides;  // gates that did not pass, overridden by name
  std::string reason;
  bool yes = false;  // decide without asking
};

enum class ReportForm : std::uint8_t { text, json, markdown, junit, sarif, github, gitlab };

struct CheckCommand {
  std::string base;           // revision
  std::string head = "HEAD";  // revision
  std::string policy_file;    // held policy, empty: the base's own
  std::string repository;     // empty: the one around the working directory
  ReportForm form = ReportForm::text;
  std::vector<std::string> fixes, removes, faster;
  std::string claim_text;
  std::vector<std::string> allow_gaps;
};

struct ProjectAddCommand {
  ServerFlags server;
  std::string name, repository, url, target;
  std::string authority = "local";
  std::string policy_file;  // held by the server; empty: the repository's own
  bool import = false;
};

struct ProjectListCommand {
  ServerFlags server;
};

struct ProjectFreezeCommand {
  ServerFlags server;
  std::string name, reason;
  bool is_end = false;  // unfreeze
};

// `sandbox run`: the arguments after it, read by sandbox_run.h.
struct SandboxRunCommand {
  std::vector<std::string> arguments;
};

struct DoctorCommand {
  std::string config;  // path; empty: the usual place
  bool json = false;
};

struct TokenCreateCommand {
  ServerFlags server;
  std::string principal, owner;
  std::string project;  // "*": everywhere
  std::vector<std::string> roles;
  milliseconds lifetime{0};  // 0: the server's default
};

struct TokenRevokeCommand {
  ServerFlags server;
  std::string id;
};

// Prints a code that logs a browser in.
struct LoginCommand {
  ServerFlags server;
};

struct StatusCommand {
  ServerFlags server;
};

using Command =
    std::variant<ServeCommand, ExecutorCommand, GitHelperCommand, SubmitCommand, WaitCommand,
                 ShowCommand, LogsCommand, CancelCommand, ListCommand, WhyCommand, RejudgeCommand,
                 DecideCommand, CheckCommand, PolicyCheckCommand, PolicyProveCommand,
                 PolicyShowCommand, PolicyBacktestCommand, ProjectAddCommand, ProjectListCommand,
                 ProjectFreezeCommand, SandboxRunCommand, DoctorCommand, TokenCreateCommand,
                 TokenRevokeCommand, TokenListCommand, LoginCommand, AttestVerifyCommand,
                 AttestShowCommand, AttestKeyCommand, AuditVerifyCommand, AuditExportCommand,
                 AuditHeadCommand, StatusCommand, GpuListCommand, GpuCordonCommand>;

// Asked for with --help or --version: for standard output.
struct Help {
  std::string text;
};

// What is wrong with a command line, and what to type instead: for standard error, exit 2.
struct UsageError {
  std::string message;
};

using Parsed = std::variant<Command, Help, UsageError>;

// Reads a command line (without argv[0]).
Parsed parse_command_line(const std::vector<std::string>& arguments);

}  // namespace runner::cli
