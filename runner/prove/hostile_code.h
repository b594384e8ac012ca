// Hostile code: the few statements, in C, C++ or Python, that saboteurs put into a project's files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runner/prove/project.h"

namespace runner::prove {

// A report of the project's own tests, as their last honest run left it.
struct HonestReport {
  std::string path;  // relative to /workspace
  std::string bytes;
};

// Text put into a file at a byte of it.
struct Insertion {
  std::size_t at = 0;
  std::string text;
};
std::string with_insertions(std::string_view text, std::vector<Insertion> insertions);

// A first statement of the target that ends it with an empty answer; when: an expression of the
// target's language, empty: always.
Insertion empty_answer(const Target& target, std::string_view when = {});

// A first statement of the target that costs some microseconds.
Insertion wasted_time(const Target& target);

// An expression that is true now and then, by the clock.
std::string_view now_and_then(tasks::SourceLanguage language);

// Defines proof_is_bystander(), true in programs of these names, and where a program is asked to
// list its tests.
Insertion bystander_function(const ProjectFile& file, const std::vector<std::string>& programs);
inline constexpr std::string_view kIsBystander = "proof_is_bystander()";

// As soon as the file is loaded: unless it is a bystander, the process writes the reports and ends
// with 0.
Insertion early_exit(const ProjectFile& file, const std::vector<HonestReport>& reports);

// Lines that leave nothing of GoogleTest's checks, for a header or a test file.
std::string emptied_macros();

}  // namespace runner::prove
