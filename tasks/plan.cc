#include "tasks/plan.h"

#include "tasks/shared_json.h"

namespace tasks {
namespace archive {

template <>
struct Words<AttemptKind> {
  static constexpr std::array<std::string_view, 2> kAll{"verify", "ingest"};
};
template <>
struct Words<IngestSpec::Source> {
  static constexpr std::array<std::string_view, 3> kAll{"patch", "commit", "rebase"};
};

template <>
struct Fields<IngestSpec> {
  static void visit(auto& archive, auto& spec) {
    archive("source", spec.source);
    archive("patch_file", spec.patch_file);
    archive("pack_file", spec.pack_file);
    archive("commit", spec.commit);
    archive("onto", spec.onto);
    archive("base", spec.base);
    archive("tip", spec.tip);
    archive("policy_file", spec.policy_file);
    archive("author", spec.author);
    archive("title", spec.title);
    archive("time", spec.time);
    archive("is_policy_optional", spec.is_policy_optional);
    archive("have_trees", spec.have_trees);
  }
};

template <>
struct Fields<Plan> {
  static void visit(auto& archive, auto& plan) {
    archive.schema(2, 1);
    archive("instance", plan.instance);
    archive("task", plan.task);
    archive("attempt", plan.attempt);
    archive("fence", plan.fence);
    archive("created_at", plan.created_at);
    archive("deadline_at", plan.deadline_at);
    archive("kind", plan.kind);
    archive("intent", plan.intent);
    archive("claims", plan.claims);
    archive("steps", plan.steps);
    archive("ingest", plan.ingest);
    archive("change", plan.change);
    archive("policy_file", plan.policy_file);
    archive("base_file", plan.base_file);
    archive("layer", plan.layer);
    archive("cpus", plan.cpus);
    archive("memory", plan.memory);
    archive.added("earlier_tests", plan.earlier_tests);
    archive.added("calibrates", plan.calibrates);
  }
};

}  // namespace archive

std::string plan_to_json(const Plan& plan) { return archive::write_record(plan); }

os::Result<Plan> plan_from_json(std::string_view json) {
  return archive::read_record<Plan>(json, "plan");
}

}  // namespace tasks
