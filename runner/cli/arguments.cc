#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "runner/cli/options.h"
#include "runner/version.h"
#include "sandbox/os/units.h"
#include "tasks/policy_yaml_fields.h"

namespace runner::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 accepted or done, 1 rejected, 2 usage, 3 error (try again), 4 not permitted,\n"
    "5 not found, 6 a wait ended first, 7 conflict or policy, 8 awaiting approval,\n"
    "9 inconclusive, 130 cancelled or interrupted.\n"
    "The server: --server, PROOFHOUSE_URL, ~/.config/proofhouse/config.yaml, or a server of this "
    "machine.\n"
    "The token: --token-file, PROOFHOUSE_TOKEN_FILE, PROOFHOUSE_TOKEN, then as above.";

// All commands and their options; the one that was given is left in `chosen`.
class CommandLine {
 public:
  CommandLine();
  CLI::App& app() { return app_; }
  const std::optional<Command>& chosen() const { return chosen_; }

 private:
  template <class T>
  CLI::App* add(CLI::App& parent, const std::string& name, const std::string& about,
                const std::shared_ptr<T>& options) {
    CLI::App* const sub = parent.add_subcommand(name, about);
    sub->callback([this, options] { chosen_ = *options; });
    return sub;
  }
  template <class T>
  CLI::App* add_client(CLI::App& parent, const std::string& name, const std::string& about,
                       const std::shared_ptr<T>& options);
  template <class T>
  CLI::App* add_of_task(const std::string& name, const std::string& about,
                        const std::shared_ptr<T>& options);
  CLI::App* add_group(const std::string& name, const std::string& about);

  void add_roles();
  void add_submit(const std::string& name, const std::string& about, const std::string& intent);
  void add_task_commands();
  CLI::App* add_decision(const std::string& name, const std::string& about,
                         const std::shared_ptr<DecideCommand>& options);
  void add_decisions();
  void add_check();
  void add_policy();
  void add_project();
  void add_token();
  void add_attest();
  void add_audit();
  void add_gpu();
  void add_local();

  CLI::App app_{"Checks changes of autonomous coding agents, and lands what was tested.",
                "proofhouse"};
  std::optional<Command> chosen_;
};

// An option that may be given several times, one value each.
CLI::Option* add_list(CLI::App* app, const std::string& name, std::vector<std::string>& values,
                      const std::string& about) {
  return app->add_option(name, values, about)->allow_extra_args(false);
}

// "speed=5%": what claims.faster holds.
std::string is_improvement(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return "expected GATE=SHARE, not '" + text + "'";
  const os::Result<std::int64_t> share = os::parse_percent_millionths(text.substr(at + 1));
  return share && *share > 0 ? std::string() : "expected a share such as 5% in '" + text + "'";
}

// A duration with its unit, "90s".
CLI::Option* add_duration(CLI::App* app, const std::string& name, milliseconds& value,
                          const std::string& about) {
  return app->add_option_function<std::string>(
      name,
      [&value, name](const std::string& text) {
        const os::Result<milliseconds> parsed = os::parse_duration(text);
        if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
        value = *parsed;
      },
      about);
}

CommandLine::CommandLine() {
  app_.require_subcommand(1);
  app_.set_version_flag("--version", std::string("proofhouse ") + kVersion);
  app_.footer(kFooter);
  add_roles();
  add_submit("submit", "Post a change to be checked (and landed)", "promote");
  add_submit("run", "Run steps of the policy, without a verdict", "run");
  add_task_commands();
  add_decisions();
  add_client(app_, "login", "Print a one-time code that logs your browser in",
             std::make_shared<LoginCommand>());
  add_check();
  add_policy();
  add_project();
  add_token();
  add_attest();
  add_audit();
  add_gpu();
  add_local();
}

template <class T>
CLI::App* CommandLine::add_client(CLI::App& parent, const std::string& name,
                                  const std::string& about, const std::shared_ptr<T>& options) {
  CLI::App* const sub = add(parent, name, about, options);
  sub->add_option("--server", options->server.url, "The server, http://HOST[:PORT]");
  sub->add_option("--token-file", options->server.token_file, "File (mode 0600) with the token");
  sub->add_flag("--json", options->server.json, "Data as one JSON object on standard output");
  return sub;
}

template <class T>
CLI::App* CommandLine::add_of_task(const std::string& name, const std::string& about,
                                   const std::shared_ptr<T>& options) {
  CLI::App* const sub = add_client(app_, name, about, options);
  sub->add_option("task", options->task, "Id of the task, t_…")->required();
  return sub;
}

CLI::App* CommandLine::add_group(const std::string& name, const std::string& about) {
  CLI::App* const group = app_.add_subcommand(name, about);
  group->require_subcommand(1);
  return group;
}

void CommandLine::add_roles() {
  auto serve = std::make_shared<ServeCommand>();
  CLI::App* sub = add(app_, "serve", "Run the service", serve);
  sub->add_option("--config", serve->config, "Configuration file (YAML)");
  sub->add_option("--executor-socket", serve->executor_socket,
                  "Use the executor that listens there, instead of starting one");

  auto executor = std::make_shared<ExecutorCommand>();
  sub = add(app_, "executor", "Run the privileged role that starts attempts", executor);
  sub->add_option("--config", executor->config, "Configuration file (YAML), the one of serve");
  sub->add_option("--socket", executor->socket, "Listen there (a path)");
  sub->add_flag("--private", executor->is_private)->group("");

  add(app_, "git-helper", "", std::make_shared<GitHelperCommand>())->group("");
}

void CommandLine::add_submit(const std::string& name, const std::string& about,
                             const std::string& intent) {
  auto options = std::make_shared<SubmitCommand>();
  options->intent = intent;
  CLI::App* const sub = add_client(app_, name, about, options);
  sub->add_option("-p,--project", options->project, "Project")->required();
  CLI::Option* const patch =
      sub->add_option("--patch", options->patch_file, "File with a git patch; -: standard input");
  sub->add_option("--commit", options->commit, "Commit of the repository here")->excludes(patch);
  sub->add_option("--base", options->base, "Commit that the change is based on (default: the tip)");
  sub->add_option("--title", options->title, "One line about the change");
  sub->add_option("--priority", options->priority)
      ->check(CLI::IsMember({"interactive", "normal", "background"}));
  sub->add_option("--family", options->family, "Search that the task belongs to");
  sub->add_option("--key", options->key, "Idempotency key: the same key answers the same task");
  CLI::Option* const wait = sub->add_flag("--wait", options->wait, "Wait for the verdict");
  add_duration(sub, "--timeout", options->timeout, "End the wait after so long (30s, 10m), exit 6")
      ->needs(wait);
  if (intent == "run") {
    sub->add_option("steps", options->steps, "Steps to run (default: all)");
    return;
  }
  sub->add_option("--intent", options->intent, "verify: verdict only; promote: land it too")
      ->check(CLI::IsMember({"verify", "promote"}));
  add_list(sub, "--fixes", options->fixes, "Test that fails on the base and passes now");
  add_list(sub, "--removes", options->removes, "Test that the change takes away on purpose");
  add_list(sub, "--faster", options->faster,
           "Claimed improvement: GATE[/BENCHMARK]=SHARE, speed=5%")
      ->check(is_improvement);
  sub->add_option("--claim-text", options->claim_text, "What the change does, for the reviewer");
}

void CommandLine::add_task_commands() {
  auto wait = std::make_shared<WaitCommand>();
  CLI::App* sub = add_of_task("wait", "Wait for a task's verdict", wait);
  add_duration(sub, "--timeout", wait->timeout, "End the wait after so long (30s, 10m), exit 6");
  sub->add_flag("--until-done", wait->until_done, "Wait on while the task awaits its approval");

  add_of_task("show", "Show a task", std::make_shared<ShowCommand>());

  auto logs = std::make_shared<LogsCommand>();
  sub = add_of_task("logs", "Print what a step printed", logs);
  sub->add_option("step", logs->step, "Step (default: list them)");
  sub->add_flag("-f,--follow", logs->follow, "Go on until the step ends");
  sub->add_flag("--raw", logs->raw, "The bytes as they are, controls too");

  add_of_task("cancel", "Cancel a task", std::make_shared<CancelCommand>());
  add_of_task("why", "Say what a task waits for, or why it ended", std::make_shared<WhyCommand>());
  add_of_task("rejudge", "Judge the kept evidence again and compare",
              std::make_shared<RejudgeCommand>());

  auto list = std::make_shared<ListCommand>();
  sub = add_client(app_, "list", "List tasks, the newest first", list);
  sub->add_option("-p,--project", list->project, "Of one project");
  sub->add_option("--state", list->state, "In one state")
      ->check(CLI::IsMember({"queued", "running", "awaiting_approval", "promoting", "done"}));
  sub->add_option("--principal", list->principal, "Of one principal");
  sub->add_option("--limit", list->limit, "At most so many")->check(CLI::Range(1, 200));

  add_client(app_, "status", "Show the server and its machine", std::make_shared<StatusCommand>());
}

CLI::App* CommandLine::add_decision(const std::string& name, const std::string& about,
                                    const std::shared_ptr<DecideCommand>& options) {
  CLI::App* const sub = add_of_task(name, about, options);
  sub->add_option("--commit", options->commit, "Candidate that was reviewed (needed with --yes)");
  sub->add_flag("-y,--yes", options->yes, "Decide without asking");
  return sub;
}

void CommandLine::add_decisions() {
  auto approve = std::make_shared<DecideCommand>();
  CLI::App* sub = add_decision("approve", "Approve a task's change, as a reviewer", approve);
  sub->add_option("--reason", approve->reason, "Words for the record");
  add_list(sub, "--gate", approve->gates, "Inconclusive gate that is accepted by name");
  add_list(sub, "--override", approve->overrides,
           "Gate that did not pass and is overridden by name, as an owner (with --reason)");
  auto refuse = std::make_shared<DecideCommand>();
  refuse->approves = false;
  sub = add_decision("refuse", "Refuse a task's change, as a reviewer", refuse);
  sub->add_option("--reason", refuse->reason, "Words for the record")->required();
  auto abstain = std::make_shared<DecideCommand>();
  abstain->approves = false;
  abstain->abstains = true;
  sub = add_decision("abstain", "Look at a task's change and decide nothing", abstain);
  sub->add_option("--reason", abstain->reason, "Words for the record");
}

void CommandLine::add_check() {
  auto options = std::make_shared<CheckCommand>();
  CLI::App* const sub = add(
      app_, "check", "Check commits of this repository, without a server (needs root)", options);
  sub->add_option("--base", options->base, "Revision that is trusted, and whose policy counts")
      ->required();
  sub->add_option("--head", options->head, "Revision that is checked (default: HEAD)");
  sub->add_option("--repo", options->repository, "Repository (default: the one around here)");
  sub->add_option("--policy", options->policy_file, "Policy to use instead of the base's own");
  const std::map<std::string, ReportForm> forms{
      {"text", ReportForm::text},    {"json", ReportForm::json},   {"md", ReportForm::markdown},
      {"junit", ReportForm::junit},  {"sarif", ReportForm::sarif}, {"github", ReportForm::github},
      {"gitlab", ReportForm::gitlab}};
  sub->add_option("--format", options->form, "text, json, md, junit, sarif, github or gitlab")
      ->transform(CLI::Transformer(forms).description("text|json|md|junit|sarif|github|gitlab"));
  sub->add_flag_callback(
      "--json", [options] { options->form = ReportForm::json; }, "The same as --format json");
  add_list(sub, "--fixes", options->fixes, "Test that fails on the base and passes now");
  add_list(sub, "--removes", options->removes, "Test that the change takes away on purpose");
  add_list(sub, "--faster", options->faster,
           "Claimed improvement: GATE[/BENCHMARK]=SHARE, speed=5%")
      ->check(is_improvement);
  sub->add_option("--claim-text", options->claim_text, "What the change does");
  add_list(sub, "--allow-gap", options->allow_gaps, "Protection that may be missing, by name");
}

void CommandLine::add_policy() {
  CLI::App* const group = add_group("policy", "Policies");
  auto check = std::make_shared<PolicyCheckCommand>();
  CLI::App* sub = add(*group, "check", "Validate a policy file", check);
  sub->add_option("file", check->file, "Policy (default: proofhouse.yaml)");
  sub->add_flag("--json", check->json, "Problems as one JSON object");
  auto prove = std::make_shared<PolicyProveCommand>();
  sub = add(*group, "prove", "Try saboteurs on the head of this repository (needs root)", prove);
  sub->add_option("--repo", prove->repository, "Repository (default: the one around here)");
  sub->add_option("--policy", prove->policy_file, "Policy to use instead of the head's own");
  add_list(sub, "--only", prove->only,
           "Saboteur by name (default: all); the broken function always");
  add_list(sub, "--allow-gap", prove->allow_gaps, "Protection that may be missing, by name");
  sub->add_flag("--json", prove->json, "As one JSON object");
  auto show = std::make_shared<PolicyShowCommand>();
  sub = add_client(*group, "show", "Show what one may edit in a project and what will run", show);
  sub->add_option("project", show->project)->required();
  auto backtest = std::make_shared<PolicyBacktestCommand>();
  sub = add_client(*group, "backtest", "Judge a project's last tasks by another policy", backtest);
  sub->add_option("file", backtest->file, "The other policy (default: proofhouse.yaml)");
  sub->add_option("-p,--project", backtest->project, "Project")->required();
  sub->add_option("--last", backtest->last, "So many judged tasks, the newest (50)")
      ->check(CLI::Range(1, 200));
}

void CommandLine::add_project() {
  CLI::App* const group = add_group("project", "Projects");
  auto options = std::make_shared<ProjectAddCommand>();
  CLI::App* const sub = add_client(*group, "add", "Register a repository", options);
  sub->add_option("name", options->name)->required();
  sub->add_option("--repo", options->repository, "Path of the repository on the server");
  sub->add_option("--url,--remote", options->url,
                  "Where it is fetched from and pushed to (authority remote)");
  sub->add_option("--target", options->target, "Branch that changes land on, refs/heads/main")
      ->required();
  sub->add_option("--authority", options->authority, "Who holds the branch")
      ->check(CLI::IsMember({"local", "remote"}));
  sub->add_flag("--import", options->import, "Copy the repository into the data directory");
  sub->add_option("--policy", options->policy_file, "Policy held by the server, a local file");
  add_client(*group, "list", "List projects", std::make_shared<ProjectListCommand>());
  auto freeze = std::make_shared<ProjectFreezeCommand>();
  CLI::App* const stop = add_client(*group, "freeze", "Land nothing more in a project", freeze);
  stop->add_option("name", freeze->name)->required();
  stop->add_option("--reason", freeze->reason, "Why; every answer shows it")->required();
  auto unfreeze = std::make_shared<ProjectFreezeCommand>();
  unfreeze->is_end = true;
  add_client(*group, "unfreeze", "Let a frozen project land again", unfreeze)
      ->add_option("name", unfreeze->name)
      ->required();
}

void CommandLine::add_token() {
  CLI::App* const group = add_group("token", "Principals and their tokens (administrators)");
  auto create = std::make_shared<TokenCreateCommand>();
  CLI::App* sub = add_client(*group, "create",
                             "Make a token, and the principal and its roles if need be", create);
  sub->add_option("principal", create->principal)->required();
  sub->add_option("--owner", create->owner, "Principal who answers for it");
  CLI::Option* const role =
      add_list(sub, "--role", create->roles, "Role it gets")
          ->check(CLI::IsMember({"agent", "ci", "reviewer", "owner", "admin"}));
  CLI::Option* const project =
      sub->add_option("-p,--project", create->project, "Project the roles are for; *: every one");
  project->needs(role);
  role->needs(project);
  add_duration(sub, "--lifetime", create->lifetime, "How long it is good for (720h)");
  auto list = std::make_shared<TokenListCommand>();
  add_client(*group, "list", "List tokens and their last use", list)
      ->add_option("--principal", list->principal, "Of one principal (default: all)");
  auto revoke = std::make_shared<TokenRevokeCommand>();
  sub = add_client(*group, "revoke", "Make a token worthless", revoke);
  sub->add_option("id", revoke->id, "Id of the token (not the token)")->required();
}

void CommandLine::add_attest() {
  CLI::App* const group = add_group("attest", "Signed statements of what landed");
  auto verify = std::make_shared<AttestVerifyCommand>();
  CLI::App* sub = add(*group, "verify", "Verify them on a clone, without a server", verify);
  sub->add_option("commit", verify->commit, "Revision that landed (default: HEAD)");
  sub->add_option("--key", verify->key_file, "The server's public key (PEM)")->required();
  sub->add_option("--bundle", verify->bundle_file, "Statements (default: the commit's git note)");
  sub->add_option("--policy", verify->policy_file, "Policy file, where the server held it");
  sub->add_option("--repo", verify->repository, "Clone (default: the one around here)");
  sub->add_flag("--json", verify->json, "As one JSON object");
  auto show = std::make_shared<AttestShowCommand>();
  sub = add_client(*group, "show", "Print the statements of a task that landed", show);
  sub->add_option("task", show->task, "Id of the task, t_…")->required();
  add_client(*group, "key", "Print the server's public key", std::make_shared<AttestKeyCommand>());
}

void CommandLine::add_audit() {
  CLI::App* const group = add_group("audit", "The log of every decision (administrators)");
  auto verify = std::make_shared<AuditVerifyCommand>();
  CLI::App* const sub =
      add_client(*group, "verify", "See that nothing was altered, dropped or cut off", verify);
  sub->add_option("--file", verify->file, "Exported log (default: the server's)");
  sub->add_option("--key", verify->key_file, "The server's public key (PEM)");
  sub->add_option("--head", verify->head_file, "Head kept earlier, which the log must hold still");
  add_client(*group, "export", "Print the log and its signed head",
             std::make_shared<AuditExportCommand>());
  add_client(*group, "head", "Print the signed head, to be kept elsewhere",
             std::make_shared<AuditHeadCommand>());
}

void CommandLine::add_gpu() {
  CLI::App* const group = add_group("gpu", "GPUs of the server's machine");
  add_client(*group, "list", "Show each GPU, its state and why it is not leased",
             std::make_shared<GpuListCommand>());
  for (const bool is_cordoned : {true, false}) {
    auto options = std::make_shared<GpuCordonCommand>();
    options->is_cordoned = is_cordoned;
    CLI::App* const sub = add_client(
        *group, is_cordoned ? "cordon" : "uncordon",
        is_cordoned ? "Lease a GPU no more once its present lease is over (administrators)"
                    : "Lease it again; a quarantined one is tested now (administrators)",
        options);
    sub->add_option("uuid", options->uuid, "UUID of the GPU or MIG instance")->required();
    if (is_cordoned) sub->add_option("--reason", options->reason, "Shown to whoever asks");
  }
}

void CommandLine::add_local() {
  auto doctor = std::make_shared<DoctorCommand>();
  CLI::App* const check = add(
      app_, "doctor", "Say what this machine lets a sandbox enforce, and how to mend it", doctor);
  check->add_flag("--json", doctor->json, "As one JSON object");
  check->add_option("--config", doctor->config, "Configuration file (YAML): which GPUs");
  CLI::App* const group = add_group("sandbox", "The sandbox by itself");
  // Its options stand in front of a command line of somebody else: sandbox_run.h reads them.
  auto run = std::make_shared<SandboxRunCommand>();
  CLI::App* const sub = add(*group, "run", "Run one command under limits (needs root)", run);
  sub->prefix_command();
  sub->set_help_flag();
}

// The deepest command that was recognised.
CLI::App* deepest(CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* up = app->get_parent(); up != nullptr; up = up->get_parent())
    name = up->get_name() + " " + name;
  return name;
}

// The first word that no command takes, and the one that may have been meant.
std::string explain(CLI::App* app, const std::string& word) {
  std::vector<std::string> names;
  const bool is_option = word.starts_with("-");
  if (is_option) {
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  } else {
    for (const CLI::App* sub : app->get_subcommands({}))
      if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  const std::string plain = word.substr(0, word.find('='));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string nearest = tasks::nearest_name(plain, views);
  std::string text = is_option       ? "unknown option " + plain
                     : names.empty() ? "unexpected argument '" + word + "'"
                                     : "unknown command '" + word + "'";
  if (!nearest.empty()) text += "; did you mean " + nearest + "?";
  return text;
}

UsageError usage_error(CLI::App& app, const CLI::ParseError& error) {
  CLI::App* const at = deepest(&app);
  std::string text = error.what();
  for (const std::string& word : app.remaining(true)) {
    if (word == "--") continue;
    text = explain(at, word);
    break;
  }
  return {text + "\nsee `" + full_name(at) + " --help`"};
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& arguments) {
  // What follows is somebody else's command line, `--` included: CLI11 would eat that.
  if (arguments.size() > 1 && arguments[0] == "sandbox" && arguments[1] == "run")
    return Command{SandboxRunCommand{{arguments.begin() + 2, arguments.end()}}};
  CommandLine line;
  // CLI11 takes them from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    line.app().parse(std::move(reversed));
  } catch (const CLI::CallForVersion& version) {
    return Help{std::string(version.what()) + "\n"};
  } catch (const CLI::CallForHelp&) {
    return Help{line.app().help()};
  } catch (const CLI::ParseError& error) {
    return usage_error(line.app(), error);
  }
  if (!line.chosen()) return UsageError{"no command; see `proofhouse --help`"};
  return *line.chosen();
}

}  // namespace runner::cli
