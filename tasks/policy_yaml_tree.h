// YamlTree: the part of YAML that a policy may use, as values with their places. Nothing above this
// header sees the YAML library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/policy_yaml.h"

namespace tasks {

// A place in the file, both from 1.
struct Place {
  int line = 1;
  int column = 1;
};

struct YamlEntry;

// One value: a scalar as it was written (never guessed to be a number or a truth value), nothing
// (`key:` or `~`), a list or a map.
struct YamlNode {
  enum class Kind : std::uint8_t { nothing, scalar, list, map };
  Kind kind = Kind::nothing;
  Place place;
  std::string text;                // scalar
  std::vector<YamlEntry> entries;  // list: keys are empty; map: in the file's order, keys differ

  // The value of a key, or nullptr.
  const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Place place;  // of the key
  YamlNode value;
};

// The problems found so far; only the first kMost are kept.
class PolicyProblems {
 public:
  static constexpr std::size_t kMost = 50;
  void add(Place place, std::string message);
  bool empty() const { return problems_.empty(); }
  // In the file's order.
  std::vector<PolicyProblem> take();

 private:
  std::vector<PolicyProblem> problems_;
};

// The tree of one YAML document, or nothing and what is wrong: more than 256 KiB, nesting over 16,
// invalid UTF-8 or control characters, duplicate keys, keys that are no scalars, aliases, anchors,
// tags, merge keys, directives of several documents, or no YAML.
std::optional<YamlNode> read_yaml_tree(std::string_view text, PolicyProblems& problems);

}  // namespace tasks
