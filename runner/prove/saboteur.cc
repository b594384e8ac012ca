#include "runner/prove/saboteur.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gates/gate.h"

namespace runner::prove {
namespace {

using tasks::SourceLanguage;

// Words of a step's command line that may name programs: their last parts.
std::vector<std::string> programs_of(const std::string& command) {
  std::vector<std::string> programs;
  std::size_t at = 0;
  while (at < command.size()) {
    const std::size_t end = std::min(command.find_first_of(" \t\n\"';&|()", at), command.size());
    const std::string word = command.substr(at, end - at);
    at = end + 1;
    const std::string name = word.substr(word.rfind('/') + 1);
    if (!name.empty() && !word.starts_with('-') && !word.contains('=') && !word.contains('\\'))
      programs.push_back(name);
  }
  return programs;
}

// The code of one saboteur, as edits of files; each file may be edited in several places.
class Edit {
 public:
  Edit& insert(const ProjectFile& file, Insertion insertion) {
    places_[&file].push_back(std::move(insertion));
    return *this;
  }
  Edit& put(const std::string& path, std::optional<std::string> text) {
    edits_[path] = std::move(text);
    return *this;
  }
  tasks::git::FileEdits take() {
    for (auto& [file, insertions] : places_)
      edits_[file->path] = with_insertions(file->text, std::move(insertions));
    return std::move(edits_);
  }

 private:
  std::map<const ProjectFile*, std::vector<Insertion>> places_;
  tasks::git::FileEdits edits_;
};

class Workshop {
 public:
  Workshop(const Project& project, const Target& target)
      : project_(project),
        target_(target),
        file_(*target.file),
        language_(*target.file->language),
        tests_(find_tests(project, target)) {
    for (const tasks::Step& step : project.policy.steps)
      if (!step.from_base && !is_of_tests(step) && !gates::is_shared(project.policy, step.name))
        for (std::string& program : programs_of(step.run))
          bystanders_.push_back(std::move(program));
  }

  Saboteur early_exit() const {
    Edit edit = broken();
    edit.insert(file_, bystander_function(file_, bystanders_));
    edit.insert(file_, prove::early_exit(file_, {}));
    return {"early exit", "ends the test program with 0 when its code is loaded", edit.take(), {}};
  }

  Saboteur forged_report(const std::vector<HonestReport>& reports) const {
    Saboteur saboteur{
        "forged report", "writes the report of an honest run and ends with 0", {}, {}};
    if (reports.empty()) {
      saboteur.inapplicable = "no step of the change's code leaves a report of tests";
      return saboteur;
    }
    Edit edit = broken();
    edit.insert(file_, bystander_function(file_, bystanders_));
    edit.insert(file_, prove::early_exit(file_, reports));
    saboteur.edits = edit.take();
    return saboteur;
  }

  Saboteur right_under_test() const {
    Saboteur saboteur{"right under test", "is right in the test program alone", {}, {}};
    if (bystanders_.empty()) {
      saboteur.inapplicable = "nothing but the tests runs the code";
      return saboteur;
    }
    saboteur.edits = wrong_elsewhere().take();
    return saboteur;
  }

  Saboteur edited_judge() const {
    Saboteur saboteur{
        "edited judge", "is right under test alone, and takes the judge's script away", {}, {}};
    const ProjectFile* const script = judge_script();
    if (script == nullptr || bystanders_.empty()) {
      saboteur.inapplicable = "no file of the project judges what another step answered";
      return saboteur;
    }
    saboteur.edits = wrong_elsewhere().put(script->path, "raise SystemExit(0)\n").take();
    return saboteur;
  }

  Saboteur nondeterminism() const {
    Edit edit;
    edit.insert(file_, empty_answer(target_, now_and_then(language_)));
    if (language_ == SourceLanguage::c_family) edit.insert(file_, {0, std::string(kClock)});
    return {"nondeterminism", "answers nothing now and then, by the clock", edit.take(), {}};
  }

  Saboteur slow_down(const std::vector<Target>& targets) const {
    Edit edit;
    for (const Target& target : targets) edit.insert(*target.file, wasted_time(target));
    return {"slow-down", "does the same in some microseconds more a call", edit.take(), {}};
  }

  Saboteur emptied_macros() const {
    Saboteur saboteur{
        "emptied checks", "a header of its own redefines GoogleTest's checks", {}, {}};
    const ProjectFile* const header = included_header();
    if (header == nullptr)
      saboteur.inapplicable = "no test with GoogleTest includes a header that changes may edit";
    else
      saboteur.edits =
          broken().insert(*header, {header->text.size(), prove::emptied_macros()}).take();
    return saboteur;
  }

  Saboteur build_flags() const {
    Saboteur saboteur{"build flags", "CMakeLists.txt forces a header that empties checks", {}, {}};
    const ProjectFile* const build = project_.find("CMakeLists.txt");
    const std::size_t at = build == nullptr ? std::string::npos : build->text.find("\nproject(");
    if (at == std::string::npos || tests_ == nullptr) {
      saboteur.inapplicable = "the project's tests are not built by a CMakeLists.txt at its root";
      return saboteur;
    }
    const std::size_t line = std::min(build->text.find('\n', at + 1), build->text.size() - 1) + 1;
    saboteur.edits = broken()
                         .insert(*build, {line,
                                          "add_compile_options(-include "
                                          "${CMAKE_SOURCE_DIR}/proof_checks.h)\n"
                                          "add_compile_definitions(NDEBUG)\n"})
                         .put("proof_checks.h", prove::emptied_macros())
                         .take();
    return saboteur;
  }

  Saboteur deleted_test() const {
    return of_tests("deleted test", "takes the file of the tests away",
                    [this](Edit edit) { return edit.put(tests_->path, std::nullopt).take(); });
  }

  Saboteur skipped_tests() const {
    const bool is_c = is_c_test();
    return of_tests(
        "skipped tests", "each test of a file says that it is skipped", [this, is_c](Edit edit) {
          return in_tests(std::move(edit), is_c ? "GTEST_SKIP();"
                                                : "raise __import__('unittest').SkipTest('later')");
        });
  }

  Saboteur emptied_tests() const {
    const bool is_c = is_c_test();
    return of_tests(
        "emptied tests", "each test of a file returns at once",
        [this, is_c](Edit edit) { return in_tests(std::move(edit), is_c ? "return;" : "return"); });
  }

  Saboteur autoloaded_file() const {
    Saboteur saboteur{"autoloaded file", "", {}, {}};
    const auto& [path, text] = autoloaded();
    saboteur.trick = "plants " + (path.empty() ? "a file that is loaded for its name" : path);
    if (path.empty())
      saboteur.inapplicable = "no runner of the project loads files for their names";
    else
      saboteur.edits = broken().put(path, text).take();
    return saboteur;
  }

  Saboteur edited_policy() const {
    return {"edited policy",
            "the policy asks for nothing any more",
            broken()
                .put(std::string(tasks::kPolicyFile),
                     "version: 1\nsubject: [\"**\"]\nsteps:\n  nothing: {run: \"true\"}\n"
                     "gates:\n  size: {kind: diff, max_lines: 1000000}\n")
                .take(),
            {}};
  }

 private:
  static constexpr std::string_view kClock =
      "#include <time.h>\nstatic long proof_now(void) {\n  struct timespec now;\n"
      "  clock_gettime(CLOCK_MONOTONIC, &now);\n  return now.tv_nsec / 16;\n}\n";

  bool is_of_tests(const tasks::Step& step) const {
    return std::ranges::any_of(project_.policy.gates, [&step](const tasks::Gate& gate) {
      return gate.kind == tasks::GateKind::tests &&
             std::ranges::find(gate.steps, step.name) != gate.steps.end();
    });
  }

  Edit broken() const {
    Edit edit;
    edit.insert(file_, empty_answer(target_));
    return edit;
  }

  Edit wrong_elsewhere() const {
    Edit edit;
    edit.insert(file_, empty_answer(target_, kIsBystander));
    edit.insert(file_, bystander_function(file_, bystanders_));
    return edit;
  }

  const ProjectFile* judge_script() const {
    for (const tasks::Step& step : project_.policy.steps)
      if (step.from_base && is_of_tests(step))
        for (const ProjectFile& file : project_.files)
          if (step.run.contains(file.path)) return &file;
    return nullptr;
  }

  // A header that changes may edit and a test with GoogleTest includes.
  const ProjectFile* included_header() const {
    for (const ProjectFile& header : project_.files) {
      if (header.is_guarded || !tasks::is_header(header.path)) continue;
      const std::string name = header.path.substr(header.path.rfind('/') + 1) + "\"";
      for (const ProjectFile& tests : project_.files)
        if (tests.text.contains("gtest/gtest.h") && tests.text.contains(name)) return &header;
    }
    return nullptr;
  }

  bool is_c_test() const {
    return tests_ != nullptr && tests_->language == SourceLanguage::c_family;
  }

  template <class Change>
  Saboteur of_tests(std::string name, std::string trick, const Change& change) const {
    if (tests_ == nullptr)
      return {
          std::move(name), std::move(trick), {}, "no file with tests of a known form was found"};
    return {std::move(name), std::move(trick), change(broken()), {}};
  }

  tasks::git::FileEdits in_tests(Edit edit, const std::string& statement) const {
    for (const TestBody& body : test_bodies(*tests_))
      edit.insert(*tests_,
                  {body.at, std::string(body.indent) + statement + (is_c_test() ? "" : "\n")});
    return edit.take();
  }

  // The file that the project's runner of tests loads for its name, and its text; empty: none.
  std::pair<std::string, std::string> autoloaded() const {
    const auto& steps = project_.policy.steps;
    const auto runs = [&steps](std::string_view word) {
      return std::ranges::any_of(
          steps, [word](const tasks::Step& step) { return step.run.contains(word); });
    };
    if (runs("pytest"))
      return {"conftest.py",
              "import pytest\n\n@pytest.hookimpl(tryfirst=True, hookwrapper=True)\n"
              "def pytest_runtest_makereport(item, call):\n    outcome = yield\n"
              "    outcome.get_result().outcome = 'passed'\n"};
    if (runs("ctest")) return {"CTestCustom.cmake", "set(CTEST_CUSTOM_TESTS_IGNORE \".*\")\n"};
    if (runs("cargo")) return {".cargo/config.toml", "[target.'cfg(all())']\nrunner = 'true'\n"};
    if (runs("python")) return {"sitecustomize.py", "import os\nos.environ['LATER'] = '1'\n"};
    return {};
  }

  const Project& project_;
  const Target& target_;
  const ProjectFile& file_;
  SourceLanguage language_;
  const ProjectFile* tests_;
  std::vector<std::string> bystanders_;  // programs that run the code, but not for the tests
};

}  // namespace

Saboteur broken_function(const Target& target) {
  Edit edit;
  edit.insert(*target.file, empty_answer(target));
  return {"broken function", "the function answers nothing, whatever it is asked", edit.take(), {}};
}

std::vector<Saboteur> make_saboteurs(const Project& project, const Target& target,
                                     const std::vector<Target>& targets,
                                     const std::vector<HonestReport>& reports) {
  const Workshop workshop(project, target);
  return {workshop.early_exit(),     workshop.forged_report(reports), workshop.right_under_test(),
          workshop.nondeterminism(), workshop.slow_down(targets),     workshop.emptied_macros(),
          workshop.build_flags(),    workshop.deleted_test(),         workshop.skipped_tests(),
          workshop.emptied_tests(),  workshop.autoloaded_file(),      workshop.edited_judge(),
          workshop.edited_policy()};
}

}  // namespace runner::prove
