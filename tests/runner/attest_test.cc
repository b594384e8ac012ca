// Envelopes, the audit log's chain, and verifying statements: values against each other.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runner/attest/audit_chain.h"
#include "runner/attest/dsse.h"
#include "runner/attest/names.h"
#include "runner/attest/verify.h"
#include "sandbox/os/digest.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

os::SigningKey make_key() { return std::move(*os::SigningKey::generate()); }

TEST(Dsse, SignsTheEncodingOfItsStandard) {
  // secure-systems-lab/dsse, protocol.md.
  EXPECT_EQ(pre_authentication_encoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Dsse, AnEnvelopeHoldsForItsTypePayloadAndKey) {
  const os::SigningKey key = make_key();
  const std::string text = make_envelope(key, "t", "payload");
  auto envelope = parse_envelope(text);
  ASSERT_TRUE(envelope.has_value());
  EXPECT_EQ(envelope->payload, "payload");
  EXPECT_TRUE(check_signature(*envelope, key.public_key()).has_value());
  EXPECT_FALSE(check_signature(*envelope, make_key().public_key()).has_value());
  envelope->payload_type = "u";
  EXPECT_FALSE(check_signature(*envelope, key.public_key()).has_value());
  envelope->payload_type = "t";
  envelope->payload += " ";
  EXPECT_FALSE(check_signature(*envelope, key.public_key()).has_value());
}

TEST(Dsse, RefusesWhatIsNoEnvelope) {
  const json whole = json::parse(make_envelope(make_key(), "t", "p"));
  for (const char* const name : {"payload", "payloadType", "signatures"}) {
    json part = whole;
    part.erase(name);
    EXPECT_FALSE(parse_envelope(part.dump()).has_value()) << name;
  }
  json more = whole;
  more["extra"] = 1;
  EXPECT_FALSE(parse_envelope(more.dump()).has_value());
  json two = whole;
  two["signatures"].push_back(two["signatures"][0]);
  EXPECT_FALSE(parse_envelope(two.dump()).has_value());
  EXPECT_FALSE(parse_envelope("[]").has_value());
}

// A log of five entries with its head.
class AuditChainTest : public testing::Test {
 protected:
  AuditChainTest() : key_(make_key()) {
    std::string previous = audit_origin();
    for (int i = 1; i <= 5; ++i) {
      lines_.push_back(to_line({.sequence = i,
                                .at = "2026-01-01T00:00:0" + std::to_string(i) + "Z",
                                .boot = "b",
                                .event = {.type = "approval.given",
                                          .actor = "rex",
                                          .project = "sample",
                                          .subject = "t_" + std::to_string(i),
                                          .data = {{"commit", "c"}}},
                                .previous = previous}));
      previous = os::sha256(lines_.back()).hex();
    }
    head_ = make_head(key_, {.instance = "i", .sequence = 5, .sha256 = previous});
  }

  std::vector<std::string> problems_of(const std::vector<std::string>& lines,
                                       const std::string& head) const {
    AuditVerifier verifier;
    for (const std::string& line : lines) verifier.add(line);
    verifier.finish(head, key_.public_key());
    return verifier.problems();
  }
  std::string first_problem(const std::vector<std::string>& lines) const {
    const auto problems = problems_of(lines, head_);
    return problems.empty() ? std::string() : problems.front();
  }

  os::SigningKey key_;
  std::vector<std::string> lines_;
  std::string head_;
};

TEST_F(AuditChainTest, AWholeLogHolds) { EXPECT_TRUE(problems_of(lines_, head_).empty()); }

TEST_F(AuditChainTest, AFlippedByteAnywhereIsFound) {
  for (std::size_t entry = 0; entry < lines_.size(); ++entry) {
    for (std::size_t at = entry; at < lines_[entry].size(); at += lines_.size()) {
      std::vector<std::string> lines = lines_;
      lines[entry][at] = static_cast<char>(lines[entry][at] ^ 1);
      ASSERT_FALSE(problems_of(lines, head_).empty()) << entry << " " << at;
    }
  }
}

TEST_F(AuditChainTest, AnAlteredEntryIsNamed) {
  std::vector<std::string> lines = lines_;
  lines[2].replace(lines[2].find("rex"), 3, "eve");
  EXPECT_TRUE(first_problem(lines).contains("entry 3: one of the two was altered"))
      << first_problem(lines);
  lines = lines_;
  lines[4].replace(lines[4].find("rex"), 3, "eve");
  EXPECT_TRUE(first_problem(lines).starts_with("entry 5: altered")) << first_problem(lines);
}

TEST_F(AuditChainTest, ADroppedEntryIsNamed) {
  for (std::size_t entry = 0; entry + 1 < lines_.size(); ++entry) {
    std::vector<std::string> lines = lines_;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(entry));
    EXPECT_TRUE(
        first_problem(lines).starts_with("entry " + std::to_string(entry + 1) + ": missing"))
        << first_problem(lines);
  }
}

TEST_F(AuditChainTest, ReorderedEntriesAreFound) {
  std::vector<std::string> lines = lines_;
  std::swap(lines[1], lines[2]);
  EXPECT_FALSE(first_problem(lines).empty());
  // Renumbered, so that only the chain tells.
  lines = lines_;
  lines[1].replace(lines[1].find("\"subject\":\"t_2"), 13, "\"subject\":\"t_9");
  EXPECT_FALSE(first_problem(lines).empty());
}

TEST_F(AuditChainTest, ATruncatedLogIsFound) {
  for (std::size_t kept = 0; kept < lines_.size(); ++kept) {
    const std::vector<std::string> lines(lines_.begin(),
                                         lines_.begin() + static_cast<std::ptrdiff_t>(kept));
    EXPECT_TRUE(first_problem(lines).starts_with("truncated")) << first_problem(lines);
  }
}

TEST_F(AuditChainTest, AHeadOfAnotherKeyOrLogIsRefused) {
  const std::string digest = os::sha256(lines_.back()).hex();
  EXPECT_FALSE(
      problems_of(lines_, make_head(make_key(), {.instance = "i", .sequence = 5, .sha256 = digest}))
          .empty());
  EXPECT_FALSE(
      problems_of(lines_, make_head(key_, {.instance = "i", .sequence = 4, .sha256 = digest}))
          .empty());
  EXPECT_FALSE(problems_of(lines_, "{}").empty());
  EXPECT_FALSE(problems_of(lines_, make_envelope(key_, kStatementType, "{}")).empty());
}

TEST_F(AuditChainTest, ALogCutBackWithAnOlderHeadIsFoundByAHeadKeptElsewhere) {
  const std::vector<std::string> lines(lines_.begin(), lines_.begin() + 3);
  const std::string older =
      make_head(key_, {.instance = "i", .sequence = 3, .sha256 = os::sha256(lines.back()).hex()});
  AuditVerifier verifier;
  verifier.expect(*parse_head(head_));
  for (const std::string& line : lines) verifier.add(line);
  verifier.finish(older, key_.public_key());
  ASSERT_EQ(verifier.problems().size(), 1U);
  EXPECT_TRUE(verifier.problems().front().starts_with("truncated"));
}

// A clone in which one commit was promoted on one base.
class FakeClone final : public CloneView {
 public:
  std::string commit = std::string(40, 'c'), base = std::string(40, 'b');
  std::string tree = std::string(40, 'd');
  PolicyFileId policy{.blob = std::string(40, 'e'), .sha256 = std::string(64, '5')};

  os::Result<std::string> tree_of(const std::string& id) override {
    if (id != commit) return os::fail(os::Code::not_found, "no such commit");
    return tree;
  }
  os::Result<bool> descends(const std::string& id, const std::string& ancestor) override {
    return id == commit && ancestor == base;
  }
  os::Result<PolicyFileId> policy_of(const std::string& id) override {
    if (id != base) return os::fail(os::Code::not_found, "no policy");
    return policy;
  }
};

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() : key_(make_key()) {
    const json subject = json::array(
        {{{"name", "n"}, {"digest", {{"gitCommit", clone_.commit}, {"gitTree", clone_.tree}}}}});
    const json policy{
        {"name", "policy"},
        {"uri", "proofhouse.yaml"},
        {"digest", {{"sha256", clone_.policy.sha256}, {"gitBlob", clone_.policy.blob}}}};
    const auto product = [](const char* name, char digit) {
      return json{{"name", name}, {"digest", {{"sha256", std::string(64, digit)}}}};
    };
    provenance_ = {
        {"_type", kStatement},
        {"subject", subject},
        {"predicateType", kProvenance},
        {"predicate",
         {{"buildDefinition",
           {{"buildType", kBuildType},
            {"externalParameters",
             {{"project", "sample"},
              {"target", "refs/heads/main"},
              {"base", clone_.base},
              {"commit", clone_.commit}}},
            {"internalParameters", {{"task", "t_1"}, {"sandbox_level", "full"}}},
            {"resolvedDependencies",
             json::array({{{"name", "base"}, {"digest", {{"gitCommit", clone_.base}}}}, policy})}}},
          {"runDetails",
           {{"builder", {{"id", builder_id("full")}}},
            {"byproducts", json::array({product("evidence", '1'), product("diff", '2'),
                                        product("resolved policy", '3')})}}}}}};
    result_ = {{"_type", kStatement},
               {"subject", subject},
               {"predicateType", kTestResult},
               {"predicate", {{"result", "PASSED"}, {"configuration", json::array({policy})}}}};
    summary_ = {{"_type", kStatement},
                {"subject", subject},
                {"predicateType", kVerificationSummary},
                {"predicate",
                 {{"policy", policy},
                  {"verificationResult", "PASSED"},
                  {"verifiedLevels", verified_levels({.level = "full", .assurance = "sealed"})},
                  {"proofhouse_receipt",
                   {{"new", clone_.commit},
                    {"old", clone_.base},
                    {"tree", clone_.tree},
                    {"evidence_sha256", std::string(64, '1')},
                    {"diff_digest", std::string(64, '2')},
                    {"policy_sha256", std::string(64, '3')},
                    {"sandbox_level", "full"},
                    {"assurance", "sealed"},
                    {"overridden", json::array()},
                    {"self_approved", false},
                    {"approvals", json::array({{{"by", "rex"}, {"owner", true}}})}}}}}};
  }

  std::string bundle() {
    const std::string one = sandbox::dump_json(provenance_);
    const std::string two = sandbox::dump_json(result_);
    const auto input = [](const std::string& payload) {
      return json{{"digest", {{"sha256", os::sha256(payload).hex()}}}};
    };
    summary_["predicate"]["inputAttestations"] = json::array({input(one), input(two)});
    std::string lines;
    for (const std::string& payload : {one, two, sandbox::dump_json(summary_)})
      lines += make_envelope(key_, kStatementType, payload) + "\n";
    return lines;
  }
  Attested verify(const std::string& bundle, std::optional<std::string> policy = {}) {
    return verify_bundle(bundle, key_.public_key(),
                         {.commit = clone_.commit, .policy_sha256 = std::move(policy)}, clone_);
  }
  // True if a mismatch of that statement and field is told.
  static bool tells(const Attested& attested, const std::string& statement,
                    const std::string& field) {
    for (const Mismatch& each : attested.mismatches)
      if (each.statement == statement && each.field.contains(field)) return true;
    return false;
  }

  FakeClone clone_;
  os::SigningKey key_;
  json provenance_, result_, summary_;
};

TEST_F(VerifyTest, StatementsThatAgreeHold) {
  const Attested attested = verify(bundle());
  for (const Mismatch& each : attested.mismatches)
    ADD_FAILURE() << each.statement << " " << each.field << " " << each.detail;
  EXPECT_EQ(attested.task, "t_1");
  EXPECT_EQ(attested.assurance, "sealed");
  EXPECT_EQ(attested.approvals, std::vector<std::string>{"rex (owner)"});
}

TEST_F(VerifyTest, NamesTheFieldThatWasAltered) {
  using Self = VerifyTest_NamesTheFieldThatWasAltered_Test;
  struct Alteration {
    json Self::* statement;
    const char* pointer;
    const char* name;
    const char* field;
  };
  const std::vector<Alteration> alterations{
      {&Self::provenance_, "/subject/0/digest/gitCommit", "provenance",
       "subject[0].digest.gitCommit"},
      {&Self::provenance_, "/subject/0/digest/gitTree", "provenance", "subject[0].digest.gitTree"},
      {&Self::provenance_, "/predicate/buildDefinition/buildType", "provenance", "buildType"},
      {&Self::provenance_, "/predicate/buildDefinition/externalParameters/base", "provenance",
       "externalParameters.base"},
      {&Self::provenance_, "/predicate/buildDefinition/resolvedDependencies/1/digest/sha256",
       "provenance", "resolvedDependencies[policy].digest.sha256"},
      {&Self::provenance_, "/predicate/buildDefinition/resolvedDependencies/1/digest/gitBlob",
       "provenance", "resolvedDependencies[policy].digest.gitBlob"},
      {&Self::provenance_, "/predicate/runDetails/builder/id", "provenance", "builder.id"},
      {&Self::provenance_, "/predicate/runDetails/byproducts/0/digest/sha256",
       "verification_summary", "evidence_sha256"},
      {&Self::result_, "/predicate/configuration/0/digest/sha256", "test_result",
       "configuration[0].digest.sha256"},
      {&Self::summary_, "/predicate/verificationResult", "verification_summary",
       "verificationResult"},
      {&Self::summary_, "/predicate/verifiedLevels/2", "verification_summary", "verifiedLevels"},
      {&Self::summary_, "/predicate/proofhouse_receipt/assurance", "verification_summary",
       "verifiedLevels"},
      {&Self::summary_, "/predicate/proofhouse_receipt/diff_digest", "verification_summary",
       "diff_digest"},
      {&Self::summary_, "/predicate/proofhouse_receipt/sandbox_level", "verification_summary",
       "sandbox_level"},
  };
  for (const Alteration& each : alterations) {
    const json before = this->*each.statement;
    // Signed anew: what an operator with the key could do.
    (this->*each.statement)[json::json_pointer(each.pointer)] = "other";
    EXPECT_TRUE(tells(verify(bundle()), each.name, each.field)) << each.pointer;
    this->*each.statement = before;
  }
}

TEST_F(VerifyTest, APayloadThatWasAlteredAfterwardsIsNotSigned) {
  const std::string whole = bundle();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1)
    lines.push_back(whole.substr(at, whole.find('\n', at) - at));
  ASSERT_EQ(lines.size(), 3U);
  const Envelope kept = *parse_envelope(lines[0]);
  json payload = json::parse(kept.payload);
  payload["predicate"]["buildDefinition"]["externalParameters"]["base"] = std::string(40, 'a');
  json forged = json::parse(lines[0]);
  forged["payload"] =
      json::parse(make_envelope(make_key(), kStatementType, payload.dump()))["payload"];
  const Attested attested = verify(forged.dump() + "\n" + lines[1] + "\n" + lines[2]);
  EXPECT_TRUE(tells(attested, "provenance", "signatures[0].sig"));
  EXPECT_TRUE(tells(attested, "provenance", "externalParameters.base"));
  EXPECT_TRUE(tells(attested, "verification_summary", "inputAttestations[0]"));
}

TEST_F(VerifyTest, AnotherKeyAnotherCommitAndAnotherPolicyAreNamed) {
  const std::string lines = bundle();
  const os::SigningKey other = make_key();
  const Attested by_other = verify_bundle(lines, other.public_key(),
                                          {.commit = clone_.commit, .policy_sha256 = {}}, clone_);
  EXPECT_TRUE(tells(by_other, "provenance", "signatures[0].keyid"));
  const Attested elsewhere = verify_bundle(
      lines, key_.public_key(), {.commit = std::string(40, '9'), .policy_sha256 = {}}, clone_);
  EXPECT_TRUE(tells(elsewhere, "verification_summary", "subject[0].digest.gitCommit"));
  clone_.policy.blob = std::string(40, '7');
  EXPECT_TRUE(tells(verify(lines), "provenance", "[policy].digest.gitBlob"));
}

TEST_F(VerifyTest, AHeldPolicyHasToBeGiven) {
  for (json* statement :
       {&provenance_["predicate"]["buildDefinition"]["resolvedDependencies"][1],
        &result_["predicate"]["configuration"][0], &summary_["predicate"]["policy"]})
    (*statement)["digest"].erase("gitBlob");
  const std::string lines = bundle();
  EXPECT_TRUE(tells(verify(lines), "provenance", "[policy].digest"));
  EXPECT_TRUE(verify(lines, clone_.policy.sha256).mismatches.empty());
  EXPECT_TRUE(tells(verify(lines, std::string(64, '0')), "provenance", "[policy].digest.sha256"));
}

TEST_F(VerifyTest, AStatementThatIsMissingOrDoubleIsTold) {
  const std::string lines = bundle();
  const std::string first = lines.substr(0, lines.find('\n') + 1);
  EXPECT_TRUE(tells(verify(lines.substr(first.size())), "provenance", "predicateType"));
  EXPECT_TRUE(tells(verify(lines + first), "provenance", "predicateType"));
  EXPECT_TRUE(tells(verify(""), "verification_summary", "predicateType"));
  EXPECT_FALSE(verify("nonsense\n").mismatches.empty());
}

TEST_F(VerifyTest, AnOverrideTakesTheAssuranceAway) {
  summary_["predicate"]["proofhouse_receipt"]["overridden"] = json::array({"tests"});
  EXPECT_TRUE(tells(verify(bundle()), "verification_summary", "verifiedLevels"));
  summary_["predicate"]["verifiedLevels"] =
      verified_levels({.level = "full", .assurance = "sealed", .is_overridden = true});
  const Attested attested = verify(bundle());
  EXPECT_TRUE(attested.mismatches.empty());
  EXPECT_EQ(attested.overrides, std::vector<std::string>{"tests"});
  EXPECT_EQ(attested.assurance, "");
}

}  // namespace
}  // namespace runner
