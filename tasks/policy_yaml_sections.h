// PolicySections: from the tree of a policy file to the Policy, one function a section. Notes where
// each part stands, for the rules that look at the whole (policy_rules.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/policy.h"
#include "tasks/policy_yaml_fields.h"
#include "tasks/policy_yaml_tree.h"

namespace tasks {

class PolicySections {
 public:
  // `problems` outlives this object.
  explicit PolicySections(PolicyProblems& problems) : fields_(problems) {}

  void read(const YamlNode& root);

  const Policy& policy() const { return policy_; }
  // The place of a part as policy_rules.h names it, or of the nearest part around it.
  Place place_of(std::string where) const;

 private:
  // What `limits` sets; disk follows memory where nobody sets it.
  struct LimitsRead {
    sandbox::Limits limits;
    bool has_disk = false;
  };

  void read_version(const YamlNode& root);
  void read_environment_name(const YamlNode& node);
  void read_owners(const YamlNode& node);
  void read_limits(const YamlNode& node, const std::string& where, LimitsRead& out);
  void read_sizes(const YamlNode& node, LimitsRead& out);
  void read_total(const YamlNode& node);
  void read_promotion(const YamlNode& node);

  void read_steps(const YamlNode& node);
  void read_step(const YamlEntry& entry);
  void read_from(const YamlNode& node, Step& step);
  void read_needs(const YamlNode& node, const std::string& where, Step& step);
  void read_reports(const YamlNode& node, const std::string& where, Step& step);
  void read_report_paths(const YamlEntry& entry, const std::string& where, Step& step);
  void read_outputs(const YamlNode& node, const std::string& where, Step& step);
  void read_variables(const YamlNode& node, Step& step);
  void read_calls(const YamlNode& node, Step& step);
  void read_gpu(const YamlNode& node, Step& step);

  void read_gates(const YamlNode& node);
  void read_gate(const YamlEntry& entry);
  void read_tests_gate(const YamlNode& node, const std::string& where, Gate& gate);
  void read_benchmark_gate(const YamlNode& node, const std::string& where, Gate& gate);
  void read_share(const YamlNode& node, std::string_view what, Share& share);
  void read_diff_gate(const YamlNode& node, Gate& gate);
  void read_gate_step(const YamlNode& node, const std::string& where, std::string_view what,
                      Gate& gate);
  void read_determinism_gate(const YamlNode& node, const std::string& where, Gate& gate);
  void read_parity_gate(const YamlNode& node, const std::string& where, Gate& gate);
  ParityOutput read_parity_output(const YamlEntry& entry);
  Tolerance read_tolerance(const YamlNode& node);
  void read_decimal(const YamlNode& node, std::string_view what, std::string& out);

  PolicyFields fields_;
  Policy policy_;
  LimitsRead limits_;
  std::map<std::string, Place> places_;
};

}  // namespace tasks
