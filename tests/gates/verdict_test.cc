#include "gates/verdict.h"

#include <string>

#include <gtest/gtest.h>

namespace {

using gates::Judgement;

Judgement full_judgement() {
  Judgement judgement;
  judgement.verdict = gates::Verdict::inconclusive;
  judgement.failure = gates::FailureClass::benchmark;
  judgement.assurance = tasks::Assurance::out_of_process;
  judgement.reason = {"BM_A is 1.08x", "BM_A", "r0001", {{"ratio_ppm", 1'080'000}, {"pairs", 48}}};
  judgement.next_step = "ask";
  judgement.waits_for_owners = true;
  judgement.asks = {tasks::GateName("speed")};
  gates::GateResult gate;
  gate.name = tasks::GateName("speed");
  gate.kind = tasks::GateKind::benchmark;
  gate.status = gates::GateStatus::inconclusive;
  gate.failure = gates::FailureClass::benchmark;
  gate.assurance = tasks::Assurance::sealed;
  gate.reasons = {judgement.reason};
  gate.summary = "undecided";
  judgement.gates = {gate};
  return judgement;
}

TEST(JudgementJson, ComesBackAsItWas) {
  const Judgement judgement = full_judgement();
  const auto read = gates::judgement_from_json(gates::judgement_to_json(judgement));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, judgement);
  const auto empty = gates::judgement_from_json(gates::judgement_to_json(Judgement{}));
  ASSERT_TRUE(empty.has_value()) << empty.error().message;
  EXPECT_EQ(*empty, Judgement{});
}

TEST(JudgementJson, IsCanonicalWithItsFormatNumberAndNoFractions) {
  const std::string json = gates::judgement_to_json(full_judgement());
  EXPECT_TRUE(json.starts_with(R"({"asks":["speed"],"assurance":"out-of-process","class":)"))
      << json;
  EXPECT_TRUE(json.contains(R"("schema":1)"));
  EXPECT_TRUE(json.contains(R"("ratio_ppm":1080000)"));
  EXPECT_EQ(gates::judgement_to_json(*gates::judgement_from_json(json)), json);
}

TEST(JudgementJson, RefusesWhatItDoesNotKnow) {
  const std::string json = gates::judgement_to_json(full_judgement());
  const auto refused = [&json](const std::string& from, const std::string& to) {
    std::string changed = json;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return !gates::judgement_from_json(changed).has_value();
  };
  EXPECT_TRUE(refused(R"("schema":1)", R"("schema":2)"));
  EXPECT_TRUE(refused(R"("next_step")", R"("next_stop")"));
  EXPECT_TRUE(refused(R"("verdict":"inconclusive")", R"("verdict":"maybe")"));
  EXPECT_TRUE(refused(R"("pairs":48)", R"("pairs":48.5)"));
  EXPECT_FALSE(gates::judgement_from_json("{").has_value());
}

TEST(VerdictNames, ComeBackAsTheyWere) {
  for (const auto verdict :
       {gates::Verdict::accepted, gates::Verdict::rejected, gates::Verdict::inconclusive,
        gates::Verdict::error, gates::Verdict::ran}) {
    EXPECT_EQ(gates::parse_verdict(gates::verdict_name(verdict)).value(), verdict);
  }
  for (int i = 0; i <= static_cast<int>(gates::FailureClass::internal); ++i) {
    const auto failure = static_cast<gates::FailureClass>(i);
    EXPECT_EQ(gates::parse_failure_class(gates::failure_class_name(failure)).value(), failure);
  }
  EXPECT_FALSE(gates::parse_verdict("fine").has_value());
  EXPECT_FALSE(gates::parse_failure_class("bad luck").has_value());
  EXPECT_EQ(gates::gate_status_name(gates::GateStatus::not_run), "not_run");
}

}  // namespace
