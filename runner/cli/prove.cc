// policy prove: the verifier's self-test. Tries saboteurs on the head of a repository, each as a
// change of its own under the policy, and tells which gate catches it.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gates/gate.h"
#include "runner/cli/check_bench.h"
#include "runner/cli/check_source.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/prove_report.h"
#include "runner/cli/session.h"
#include "runner/cli/terminal.h"
#include "runner/limits.h"
#include "runner/prove/project.h"
#include "runner/prove/saboteur.h"
#include "sandbox/os/files.h"
#include "tasks/git.h"
#include "tasks/git_files.h"

namespace runner::cli {
namespace {

constexpr std::size_t kReportLimit = 256U << 10U;
// Functions that are tried one after another until one still builds when it is broken; as many
// become slow.
constexpr std::size_t kTargets = 8;

// An honest report of each step of the change's code that a gate of tests judges.
os::Result<std::vector<prove::HonestReport>> honest_reports(const CheckResult& honest) {
  std::vector<prove::HonestReport> reports;
  for (const tasks::RunRecord& run : honest.evidence.runs) {
    if (run.key.side != tasks::Side::change || run.key.pair || run.key.rerun) continue;
    for (const tasks::ReportRecord& report : run.reports)
      if (tasks::report_kind(report.format) == tasks::ReportKind::tests &&
          !report.raw_sha256.empty())
        reports.push_back(
            {report.path, TRY(honest.attempt.read("evidence/" + report.raw_sha256, kReportLimit))});
  }
  return reports;
}

class Prover {
 public:
  Prover(CheckBench& bench, const CheckSource& source, std::string policy,
         const std::vector<std::string>& only)
      : bench_(bench), source_(source), policy_(std::move(policy)), only_(only) {}

  os::Result<Proof> run() {
    proof_.commit = source_.head.hex();
    const CheckResult honest = TRY(try_nothing());
    const tasks::git::Repository repository =
        TRY(tasks::git::Repository::open_objects(source_.git_dir));
    const prove::Project project =
        TRY(prove::read_project(repository, source_.head, honest.policy));
    const std::vector<prove::Target> targets = prove::find_targets(project, kTargets);
    const prove::Target* const target = TRY(find_target(repository, targets));
    if (target == nullptr) {
      add({"broken function",
           "",
           {},
           "no function of a subject file in C, C++ or Python builds when it is broken"});
      return std::move(proof_);
    }
    proof_.target = target->file->path + ": " + std::string(target->function.name);
    const std::vector<prove::Saboteur> saboteurs =
        prove::make_saboteurs(project, *target, targets, TRY(honest_reports(honest)));
    TRY(check_names(saboteurs));
    for (const prove::Saboteur& saboteur : saboteurs)
      if (only_.empty() || std::ranges::find(only_, saboteur.name) != only_.end())
        TRY(try_saboteur(repository, saboteur));
    return std::move(proof_);
  }

 private:
  os::Result<void> check_names(const std::vector<prove::Saboteur>& saboteurs) const {
    for (const std::string& name : only_) {
      if (std::ranges::find(saboteurs, name, &prove::Saboteur::name) != saboteurs.end()) continue;
      std::string known;
      for (const prove::Saboteur& saboteur : saboteurs)
        known += (known.empty() ? "" : ", ") + saboteur.name;
      return os::fail(os::Code::invalid, "no saboteur '" + name + "'; there are: " + known);
    }
    return {};
  }

  void add(const prove::Saboteur& saboteur, ProofRow row = {}) {
    row.saboteur = saboteur.name;
    row.trick = saboteur.trick;
    if (!saboteur.inapplicable.empty()) row.words = saboteur.inapplicable;
    proof_.rows.push_back(std::move(row));
  }

  os::Result<TakenIn> take_in(tasks::IngestSpec spec, std::map<std::string, std::string> files) {
    spec.base = source_.head;
    spec.tip = source_.head;
    if (!policy_.empty()) {
      spec.policy_file = "in/policy.yaml";
      files[spec.policy_file] = policy_;
    }
    TakenIn taken = TRY(bench_.take_in(std::move(spec), source_.git_dir, files));
    if (taken.change.refusal)
      return os::fail(os::Code::conflict, refusal_text(*taken.change.refusal));
    return taken;
  }

  // A change that changes nothing has to pass; noise alone may leave a gate undecided.
  os::Result<CheckResult> try_nothing() {
    say("trying: nothing (the head itself)");
    tasks::IngestSpec spec;
    spec.source = tasks::IngestSpec::Source::commit;
    spec.commit = source_.head;
    const TakenIn taken = TRY(take_in(std::move(spec), {}));
    proof_.policy_sha256 = taken.change.policy_sha256;
    CheckResult result = TRY(bench_.verify(taken, {}));
    const bool is_neutral =
        result.judgement && (result.judgement->verdict == gates::Verdict::accepted ||
                             result.judgement->verdict == gates::Verdict::inconclusive);
    if (is_neutral) return result;
    return os::fail(os::Code::unavailable,
                    "the head does not pass its own policy: " +
                        (result.judgement ? result.judgement->reason.text : "it was stopped"));
  }

  struct Tried {
    ProofRow row;
    bool is_built = true;  // it got as far as the gates
  };

  os::Result<Tried> judge(const tasks::git::Repository& repository,
                          const prove::Saboteur& saboteur) {
    say("trying: " + saboteur.name);
    tasks::IngestSpec spec;
    spec.source = tasks::IngestSpec::Source::patch;
    spec.patch_file = "in/change.patch";
    spec.author = "prove";
    spec.title = saboteur.name;
    const std::string patch =
        TRY(tasks::git::patch_of_edits(repository, source_.head, saboteur.edits));
    const TakenIn taken = TRY(take_in(std::move(spec), {{"in/change.patch", patch}}));
    const CheckResult result = TRY(bench_.verify(taken, {}));
    if (!result.judgement)
      return os::fail(os::Code::unavailable,
                      result.evidence.infra ? result.evidence.infra->detail : "it was stopped");
    const bool is_built = result.judgement->failure != gates::FailureClass::build;
    return Tried{TRY(proof_row(result.policy, taken.change, *result.judgement)), is_built};
  }

  // The first that still builds when it is broken, whatever became of it then; nullptr: none.
  os::Result<const prove::Target*> find_target(const tasks::git::Repository& repository,
                                               const std::vector<prove::Target>& targets) {
    for (const prove::Target& target : targets) {
      const prove::Saboteur broken = prove::broken_function(target);
      const Tried tried = TRY(judge(repository, broken));
      if (!tried.is_built) continue;
      add(broken, tried.row);
      return &target;
    }
    return nullptr;
  }

  os::Result<void> try_saboteur(const tasks::git::Repository& repository,
                                const prove::Saboteur& saboteur) {
    if (!saboteur.inapplicable.empty()) {
      add(saboteur);
      return {};
    }
    add(saboteur, TRY_CONTEXT(judge(repository, saboteur), saboteur.name).row);
    return {};
  }

  CheckBench& bench_;
  const CheckSource& source_;
  std::string policy_;  // held; empty: the head's own
  const std::vector<std::string>& only_;
  Proof proof_;
};

os::Result<int> run_prove(const PolicyProveCommand& command) {
  const CheckSource source = TRY(find_check_source(command.repository, "HEAD", "HEAD"));
  if (source.is_dirty) say("uncommitted edits are not looked at: only the head is");
  std::string policy;
  if (!command.policy_file.empty())
    policy = TRY(os::read_file(command.policy_file, kPolicyFileLimit));
  const std::unique_ptr<CheckBench> bench = TRY(CheckBench::open(command.allow_gaps));
  const tasks::git::Session session =
      TRY(tasks::git::Session::start(tasks::git::Use::repositories));
  const Proof proof = TRY(Prover(*bench, source, std::move(policy), command.only).run());
  if (command.json)
    print_json(proof_json(proof));
  else
    print(proof_text(proof));
  return exit_code_of_proof(proof);
}

}  // namespace

int run_command(const PolicyProveCommand& command) {
  if (!is_allowed_to_check("policy prove")) return kExitError;
  const os::Result<int> code = run_prove(command);
  return code ? *code : tell(code.error());
}

}  // namespace runner::cli
