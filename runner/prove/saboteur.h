// Saboteurs: changes that a policy has to refuse, made from the project's own files.
#pragma once

#include <string>
#include <vector>

#include "runner/prove/hostile_code.h"
#include "runner/prove/project.h"
#include "tasks/git_files.h"

namespace runner::prove {

struct Saboteur {
  std::string name;   // "early exit"
  std::string trick;  // what it does, in one sentence
  tasks::git::FileEdits edits;
  std::string inapplicable;  // why there is none for this project; empty: `edits` holds one
};

// The target answers nothing, whatever it is asked.
Saboteur broken_function(const Target& target);

// All others. Those that have something to hide hide that `target` is broken; which functions
// become slow is said by `targets`.
std::vector<Saboteur> make_saboteurs(const Project& project, const Target& target,
                                     const std::vector<Target>& targets,
                                     const std::vector<HonestReport>& reports);

}  // namespace runner::prove
