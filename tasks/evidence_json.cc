#include <algorithm>

#include "sandbox/gpu/telemetry_fields.h"
#include "tasks/comparison_json.h"
#include "tasks/evidence.h"
#include "tasks/shared_json.h"

namespace tasks {
namespace archive {

template <>
struct Words<Side> {
  static constexpr std::array<std::string_view, 4> kAll{"base", "change", "mixed", "judge"};
};
template <>
struct Words<Variant> {
  static constexpr std::array<std::string_view, 3> kAll{"plain", "relinked", "calibration"};
};
template <>
struct Words<AttemptStatus> {
  static constexpr std::array<std::string_view, 4> kAll{"completed", "refused", "cancelled",
                                                        "infra"};
};

template <>
struct Fields<RunKey> {
  static void visit(auto& archive, auto& key) {
    archive("side", key.side);
    archive("of", key.of);
    archive("step", key.step);
    archive("pair", key.pair);
    archive.added("variant", key.variant);
    archive.added("leg", key.leg);
    archive.added("rerun", key.rerun);
  }
};

// The parsed report is a blob of its own.
template <>
struct Fields<ReportRecord> {
  static void visit(auto& archive, auto& report) {
    archive("format", report.format);
    archive("path", report.path);
    archive("raw_sha256", report.raw_sha256);
    archive("error", report.error);
    archive("parsed_sha256", report.parsed_sha256);
  }
};

template <>
struct Fields<OutputRecord> {
  static void visit(auto& archive, auto& output) {
    archive("name", output.name);
    archive("error", output.error);
    archive("sha256", output.sha256);
    archive("files", output.files);
    archive("bytes", output.bytes);
  }
};

template <>
struct Fields<LogRecord> {
  static void visit(auto& archive, auto& log) {
    archive("head_sha256", log.head_sha256);
    archive("tail_sha256", log.tail_sha256);
    archive("bytes", log.bytes);
    archive("omitted", log.omitted);
  }
};

template <>
struct Fields<sandbox::gpu::GpuTelemetry> {
  static void visit(auto& archive, auto& sum) {
    sandbox::gpu::visit_telemetry(sum,
                                  [&](const char* name, auto& value) { archive(name, value); });
  }
};

template <>
struct Fields<sandbox::gpu::GpuUse> {
  static void visit(auto& archive, auto& use) {
    archive("uuid", use.uuid);
    archive("name", use.name);
    archive("telemetry", use.telemetry);
    archive("xids", use.xids);
  }
};

template <>
struct Fields<GpuRecord> {
  static void visit(auto& archive, auto& gpu) {
    archive("driver", gpu.driver);
    archive("wait_ms", gpu.wait_ms);
    archive("uses", gpu.uses);
  }
};

template <>
struct Fields<RunRecord> {
  static void visit(auto& archive, auto& run) {
    archive("key", run.key);
    archive("id", run.id);
    archive("order", run.order);
    archive("seed", run.seed);
    archive("carried", run.carried);
    archive("outcome", run.outcome);
    archive("limits_hit", run.limits_hit);
    archive("usage", run.usage);
    archive("log", run.log);
    archive("reports", run.reports);
    archive("outputs", run.outputs);
    archive("level", run.level);
    archive("gaps", run.gaps);
    archive.added("disturbances", run.disturbances);
    archive.added("gpu", run.gpu);
  }
};

template <>
struct Fields<ComparisonKey> {
  static void visit(auto& archive, auto& key) {
    archive("gate", key.gate);
    archive("output", key.output);
    archive("left", key.left);
    archive("right", key.right);
    archive("right_output", key.right_output);
  }
};

template <>
struct Fields<ComparisonRecord> {
  static void visit(auto& archive, auto& record) {
    archive("key", record.key);
    archive("comparison", record.comparison);
  }
};

template <>
struct Fields<InfraFault> {
  static void visit(auto& archive, auto& fault) {
    archive("step", fault.step);
    archive("code", fault.code);
    archive("errno", fault.error_number);
    archive("detail", fault.detail);
    archive("retryable", fault.retryable);
  }
};

template <>
struct Fields<Machine> {
  static void visit(auto& archive, auto& machine) {
    archive("host", machine.host);
    archive("kernel", machine.kernel);
    archive("cpu", machine.cpu);
    archive("environment_sha256", machine.environment_sha256);
    archive("proofhouse", machine.proofhouse);
  }
};

template <>
struct Fields<Evidence> {
  static void visit(auto& archive, auto& evidence) {
    archive.schema(2, 1);
    archive("instance", evidence.instance);
    archive("task", evidence.task);
    archive("attempt", evidence.attempt);
    archive("fence", evidence.fence);
    archive("started_at", evidence.started_at);
    archive("finished_at", evidence.finished_at);
    archive("status", evidence.status);
    archive("infra", evidence.infra);
    archive("intent", evidence.intent);
    archive("claims", evidence.claims);
    archive("steps", evidence.steps);
    archive("change", evidence.change);
    archive("policy_sha256", evidence.policy_sha256);
    archive("runs", evidence.runs);
    archive("machine", evidence.machine);
    archive.added("earlier_tests", evidence.earlier_tests);
    archive.added("calibrates", evidence.calibrates);
    archive.added("comparisons", evidence.comparisons);
  }
};

}  // namespace archive

std::string_view side_name(Side side) {
  return archive::Words<Side>::kAll.at(static_cast<std::size_t>(side));
}

std::string_view variant_name(Variant variant) {
  return archive::Words<Variant>::kAll.at(static_cast<std::size_t>(variant));
}

os::Result<Side> parse_side(std::string_view name) {
  return archive::parse_word<Side>(name, "side");
}

const RunRecord* Evidence::find(const RunKey& key) const {
  const auto found = std::ranges::find(runs, key, &RunRecord::key);
  return found == runs.end() ? nullptr : &*found;
}

std::string evidence_to_json(const Evidence& evidence) { return archive::write_record(evidence); }

os::Result<Evidence> evidence_from_json(std::string_view json) {
  return archive::read_record<Evidence>(json, "evidence");
}

}  // namespace tasks
