// plan.json, ingest.json and result.json: what is written comes back, and nothing else is taken.

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tasks/change.h"
#include "tasks/evidence.h"
#include "tasks/plan.h"
#include "tests/support/expect.h"

namespace tasks {
namespace {

template <class Id>
Id id(char digit) {
  return Id::parse(std::string(40, digit)).value();
}

IngestResult ingest_result() {
  IngestResult result;
  result.base = id<CommitId>('a');
  result.base_tree = id<TreeId>('b');
  result.candidate = id<CommitId>('c');
  result.tree = id<TreeId>('d');
  result.mixed_tree = id<TreeId>('e');
  result.guarded = {"CMakeLists.txt"};
  result.diff.files = {{'R', "new.cc", "old.cc", 3, 4, false}, {'A', "a.bin", "a.bin", 0, 0, true}};
  result.diff.digest = std::string(64, '1');
  result.policy_sha256 = std::string(64, '2');
  return result;
}

RunRecord run_record() {
  RunRecord run;
  run.key = {Side::mixed, Side::mixed, StepName("bench"), 3};
  run.id = "r0007";
  run.order = 1;
  run.seed = "abc";
  run.outcome = sandbox::Outcome::killed("memory");
  run.limits_hit = {{"memory", 100, 90}};
  run.usage.wall_ms = 12;
  run.usage.left_behind = 2;
  run.log = {std::string(64, '3'), "", 10, 0};
  run.reports = {{ReportFormat::tap, "t.tap", std::string(64, '4'), "", std::string(64, '5'), {}}};
  run.outputs = {{"out", "missing", "", 0, 0}};
  run.gaps = {"idmap"};
  run.key.variant = Variant::relinked;
  run.disturbances = {{"steal_ms", 12}};
  return run;
}

Evidence evidence() {
  Evidence evidence;
  evidence.instance = "0123abcd";
  evidence.task = "t_1";
  evidence.attempt = "a_1";
  evidence.fence = 2;
  evidence.started_at = "2026-11-30T12:00:00.000Z";
  evidence.finished_at = "2026-11-30T12:01:00.000Z";
  evidence.intent = Intent::promote;
  evidence.claims = {"faster", {"S.A"}, {"S.B"}, {{"speed/BM_Dot", 50'000}}};
  evidence.earlier_tests = {{"speed", 3}};
  evidence.calibrates = true;
  evidence.change = ingest_result();
  evidence.policy_sha256 = std::string(64, '2');
  evidence.runs = {run_record()};
  evidence.machine = {"h", "6.1", "cpu", std::string(64, '6'), "0.1.0"};
  return evidence;
}

Plan plan() {
  Plan plan;
  plan.instance = "0123abcd";
  plan.task = "t_1";
  plan.attempt = "a_1";
  plan.fence = 3;
  plan.kind = AttemptKind::ingest;
  plan.intent = Intent::run;
  plan.steps = {StepName("build")};
  plan.ingest.source = IngestSpec::Source::rebase;
  plan.ingest.commit = id<CommitId>('a');
  plan.ingest.time = 1'700'000'000;
  plan.ingest.is_policy_optional = true;
  plan.ingest.have_trees = {id<TreeId>('f')};
  plan.change = ingest_result();
  plan.layer = std::string(64, '7');
  plan.cpus = {0, 1};
  plan.memory = os::Bytes{1U << 30U};
  return plan;
}

TEST(Evidence, ComesBackAsItWas) {
  const os::Result<Evidence> back = evidence_from_json(evidence_to_json(evidence()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, evidence());
  EXPECT_EQ(evidence_to_json(*back), evidence_to_json(evidence()));
}

TEST(Evidence, KeepsAnInfrastructureFault) {
  Evidence faulty = evidence();
  faulty.status = AttemptStatus::infra;
  faulty.infra = InfraFault{"mount", "exhausted", 28, "no space", false};
  const os::Result<Evidence> back = evidence_from_json(evidence_to_json(faulty));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, faulty);
}

TEST(Evidence, LeavesTheParsedReportToItsBlob) {
  Evidence loaded = evidence();
  loaded.runs[0].reports[0].parsed.tests.cases = {{"a", CaseStatus::passed, 0, "", "", 0}};
  EXPECT_EQ(evidence_to_json(loaded), evidence_to_json(evidence()));
}

TEST(Evidence, FindsARunByItsWholeKey) {
  const Evidence kept = evidence();
  EXPECT_EQ(kept.find(run_record().key), kept.runs.data());
  EXPECT_EQ(kept.find({Side::mixed, Side::mixed, StepName("bench"), 4}), nullptr);
  EXPECT_EQ(kept.find({Side::mixed, Side::mixed, StepName("bench"), std::nullopt}), nullptr);
}

// Format 1 knew no variants, disturbances, improvements or ledger.
TEST(Evidence, OfTheFirstFormatIsStillRead) {
  Evidence old = evidence();
  old.claims.faster.clear();
  old.earlier_tests.clear();
  old.calibrates = false;
  old.runs[0].key.variant = Variant::plain;
  old.runs[0].disturbances.clear();
  std::string json = evidence_to_json(old);
  const auto cut = [&json](const std::string& part, const std::string& with = "") {
    const std::size_t at = json.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    json.replace(at, part.size(), with);
  };
  cut(R"("calibrates":false,)");
  cut(R"("faster":{},)");
  cut(R"("disturbances":{},)");
  cut(R"("earlier_tests":{},)");
  cut(R"(,"variant":"plain")");
  cut(R"("schema":2)", R"("schema":1)");
  const os::Result<Evidence> back = evidence_from_json(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, old);
  cut(R"("schema":1,"started_at")", R"("schema":3,"started_at")");
  EXPECT_FALSE(evidence_from_json(json));
}

TEST(Evidence, HasOneJsonForm) {
  Evidence small;
  small.change.base = id<CommitId>('a');
  EXPECT_EQ(evidence_to_json(small),
            R"({"attempt":"","calibrates":false,"change":{"base":")" + std::string(40, 'a') +
                R"(","base_tree":"","candidate":"","diff":{"digest":"","files":[]},"guarded":[],)"
                R"("mixed_tree":null,"policy_sha256":"","refusal":null,"schema":1,"tree":""},)"
                R"("claims":{"faster":{},"fixes":[],"removes":[],"text":""},"comparisons":[],)"
                R"("earlier_tests":{},"fence":0,"finished_at":"",)"
                R"("infra":null,"instance":"","intent":"verify","machine":{"cpu":"",)"
                R"("environment_sha256":"","host":"","kernel":"","proofhouse":""},)"
                R"("policy_sha256":"","runs":[],"schema":2,"started_at":"","status":"completed",)"
                R"("steps":[],"task":""})");
}

TEST(Plan, ComesBackAsItWas) {
  const os::Result<Plan> back = plan_from_json(plan_to_json(plan()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, plan());
}

TEST(IngestResult, ComesBackAsItWasAlsoWhenRefused) {
  IngestResult refused;
  refused.refusal = Refusal{"patch_conflict", "src/a.cc", 12, "hunk 1"};
  for (const IngestResult& result : {ingest_result(), refused}) {
    const os::Result<IngestResult> back = ingest_result_from_json(ingest_result_to_json(result));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, result);
  }
}

TEST(Diff, NamesEveryPathOnce) {
  EXPECT_EQ(ingest_result().diff.paths(), (std::vector<std::string>{"a.bin", "new.cc", "old.cc"}));
}

TEST(Records, RefuseWhatTheyDoNotKnow) {
  const auto error = [](std::string json, std::string_view from, std::string_view to) {
    const std::size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    json.replace(at, from.size(), to);
    const os::Result<Plan> back = plan_from_json(json);
    return back ? std::string("taken") : back.error().message;
  };
  const std::string json = plan_to_json(plan());
  EXPECT_SAYS(error(json, "\"fence\":3", "\"fence\":3,\"more\":1"), "key 'more' is unknown");
  EXPECT_SAYS(error(json, "\"fence\":3,", ""), "key 'fence' is missing");
  EXPECT_SAYS(error(json, "\"fence\":3", "\"fence\":3,\"fence\":3"), "stands twice");
  EXPECT_SAYS(error(json, "\"fence\":3", "\"fence\":\"3\""), "'fence' is not an integer");
  EXPECT_SAYS(error(json, "\"fence\":3", "\"fence\":3.5"), "'fence' is not an integer");
  EXPECT_SAYS(error(json, "\"fence\":3", "\"fence\":99999999999999999999"), "'fence' is not");
  EXPECT_SAYS(error(json, "\"cpus\":[0,1]", "\"cpus\":[0,4294967296]"), "'cpus' is not in range");
  EXPECT_SAYS(error(json, "\"kind\":\"ingest\"", "\"kind\":\"other\""),
              "'kind' is not one of verify, ingest");
  EXPECT_SAYS(error(json, "\"commit\":\"" + std::string(40, 'a'), "\"commit\":\"xyz"), "40 hex");
  EXPECT_SAYS(error(json, "\"status\":\"R\"", "\"status\":\"RR\""), "one character");
  EXPECT_SAYS(error(json, "\"is_policy_optional\":true", "\"is_policy_optional\":1"),
              "true or false");
  EXPECT_SAYS(error("{\"schema\":2}", "2", "9"), "plan: ");
  EXPECT_SAYS(error("[x]", "x", "1"), "'plan' is not an object");
  EXPECT_SAYS(error("x", "x", ""), "plan: ");
  EXPECT_SAYS(error(json, "\"instance\":\"0123abcd\"", "\"instance\":\"\xFF\""), "plan: ");
}

TEST(Records, RefuseANewerSchema) {
  std::string json = evidence_to_json(evidence());
  // The last one is that of the record itself: the change's comes before it.
  json.replace(json.rfind("\"schema\":2"), 10, "\"schema\":3");
  const os::Result<Evidence> back = evidence_from_json(json);
  ASSERT_FALSE(back);
  EXPECT_SAYS(back.error().message, "schema 3 is newer");
}

TEST(Records, SurviveMutations) {
  const unsigned seed = 20'261'130;
  std::mt19937 random(seed);
  const std::string good = evidence_to_json(evidence());
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    for (auto edits = random() % 3 + 1; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text.erase(at, std::min<std::size_t>(random() % 10 + 1, text.size() - at));
      else
        text[at] = "{}[]\",:0a\\\xFF"[random() % 11];
    }
    const os::Result<Evidence> back = evidence_from_json(text);
    if (!back) continue;
    const os::Result<Evidence> again = evidence_from_json(evidence_to_json(*back));
    ASSERT_TRUE(again && *again == *back) << "seed " << seed << ":\n" << text;
  }
}

}  // namespace
}  // namespace tasks
