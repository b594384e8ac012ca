#include "gates/verdict.h"

#include <string>
#include <string_view>

#include "gates/verdict_words.h"
#include "sandbox/os/result.h"
#include "tasks/json_archive.h"
#include "tasks/shared_json.h"

namespace gates {

namespace {

template <class E>
std::string_view word(E value) {
  return tasks::archive::Words<E>::kAll.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view gate_status_name(GateStatus status) { return word(status); }
std::string_view verdict_name(Verdict verdict) { return word(verdict); }
std::string_view failure_class_name(FailureClass failure) { return word(failure); }

os::Result<Verdict> parse_verdict(std::string_view name) {
  return tasks::archive::parse_word<Verdict>(name, "verdict");
}
os::Result<FailureClass> parse_failure_class(std::string_view name) {
  return tasks::archive::parse_word<FailureClass>(name, "failure class");
}

}  // namespace gates

namespace tasks::archive {

template <>
struct Fields<gates::Reason> {
  static void visit(auto& archive, auto& reason) {
    archive("text", reason.text);
    archive("where", reason.where);
    archive("evidence", reason.evidence);
    archive("figures", reason.figures);
  }
};

template <>
struct Fields<gates::GateResult> {
  static void visit(auto& archive, auto& gate) {
    archive("name", gate.name);
    archive("kind", gate.kind);
    archive("status", gate.status);
    archive("class", gate.failure);
    archive("assurance", gate.assurance);
    archive("reasons", gate.reasons);
    archive("summary", gate.summary);
  }
};

template <>
struct Fields<gates::Judgement> {
  static void visit(auto& archive, auto& judgement) {
    archive.schema(1);
    archive("verdict", judgement.verdict);
    archive("class", judgement.failure);
    archive("assurance", judgement.assurance);
    archive("reason", judgement.reason);
    archive("next_step", judgement.next_step);
    archive("gates", judgement.gates);
    archive("waits_for_owners", judgement.waits_for_owners);
    archive("asks", judgement.asks);
  }
};

}  // namespace tasks::archive

namespace gates {

std::string judgement_to_json(const Judgement& judgement) {
  return tasks::archive::write_record(judgement);
}

os::Result<Judgement> judgement_from_json(std::string_view json) {
  return tasks::archive::read_record<Judgement>(json, "judgement");
}

}  // namespace gates
