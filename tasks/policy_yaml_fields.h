// PolicyFields: reads one field of a policy at a time, strictly, and notes what is wrong with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/units.h"
#include "tasks/policy_yaml_tree.h"

namespace tasks {

// Names that a place of the policy takes.
struct AllowedNames {
  std::vector<std::string_view> names;
  std::vector<std::string_view> later;  // in the design, but not in this version
};

// A range of whole numbers, both ends included.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

class PolicyFields {
 public:
  // `problems` outlives this object.
  explicit PolicyFields(PolicyProblems& problems) : problems_(problems) {}

  // Every reading below leaves `out` as it is when the value is wrong. `what` names the field.

  // True for a map; its keys are checked against `allowed`.
  bool open_map(const YamlNode& node, std::string_view what, const AllowedNames& allowed);
  // True for a map whose keys are free, at most `most` of them.
  bool open_free_map(const YamlNode& node, std::string_view what, std::size_t most);
  // True for a list of at most `most` values.
  bool open_list(const YamlNode& node, std::string_view what, std::size_t most);

  // Text of 1..`most` bytes.
  void read_text(const YamlNode& node, std::string_view what, std::size_t most, std::string& out);
  void read_flag(const YamlNode& node, std::string_view what, bool& out);
  void read_integer(const YamlNode& node, std::string_view what, Range range, std::int64_t& out);
  void read_integer(const YamlNode& node, std::string_view what, Range range, int& out);
  // Range in bytes.
  void read_bytes(const YamlNode& node, std::string_view what, Range range, os::Bytes& out);
  // Range in milliseconds.
  void read_duration(const YamlNode& node, std::string_view what, Range range,
                     std::chrono::milliseconds& out);
  // The index of the word among the allowed names.
  void read_word(const YamlNode& node, std::string_view what, const AllowedNames& allowed,
                 std::size_t& out);
  // A path below the workspace: relative, without empty, "." and ".." parts. A directory may end
  // with '/' where that is allowed.
  enum class PathKind : std::uint8_t { file, file_or_directory };
  void read_path(const YamlNode& node, std::string_view what, PathKind kind, std::string& out);
  // A glob as glob_matches takes it.
  void check_glob(Place place, std::string_view glob);
  void read_globs(const YamlNode& node, std::string_view what, std::vector<std::string>& out);
  // A name by os::is_plain_name.
  bool check_name(Place place, std::string_view what, std::string_view name);

  void add(Place place, std::string message) { problems_.add(place, std::move(message)); }

 private:
  const std::string* scalar(const YamlNode& node, std::string_view what, std::string_view expected);
  PolicyProblems& problems_;
};

// "one", "one, two and three" of the names; and the nearest of them, if one is near.
std::string list_names(std::span<const std::string_view> names);
std::string nearest_name(std::string_view name, std::span<const std::string_view> names);

}  // namespace tasks
