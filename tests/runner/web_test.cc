// The pages as a browser sees them, without a browser: what is refused, what is escaped, what a
// form may do. tests/browser walks through them with a real one.
#include "runner/web/web.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runner/web/assets.h"
#include "tests/runner/house.h"
#include "tests/runner/visitor.h"

namespace runner::web {
namespace {

using tests::code_of;
using tests::Fields;
using tests::House;
using tests::Visitor;

Fields decision_on(const TaskView& task, const std::string& csrf, const std::string& decision) {
  return {{"csrf", csrf},
          {"decision", decision},
          {"commit", task.candidate_commit},
          {"diff_digest", task.diff_digest},
          {"etag", task.etag},
          {"reason", "as said"}};
}

// A house with a task that waits, and bob in front of his browser.
class Pages : public testing::Test {
 protected:
  void SetUp() override {
    task_ = house_.wait_for(house_.submit(house_.submission()).id, TaskState::awaiting_approval);
    ASSERT_EQ(visitor_.log_in(code_of(house_, "bob")).status, 303);
  }
  TaskView now() { return *house_.core->task(house_.actor("carol"), task_.id); }
  std::string path() const { return "/tasks/" + task_.id + "/decision"; }
  // Sends an approval changed by `change`, and expects that nothing came of it.
  void expect_refused(int status, const std::function<void(HttpRequest&)>& change) {
    HttpRequest request = visitor_.form(path(), decision_on(task_, visitor_.csrf(), "approve"));
    change(request);
    EXPECT_EQ(visitor_.send(request).status, status);
    EXPECT_EQ(now().state, TaskState::awaiting_approval);
    EXPECT_TRUE(now().approvals.empty());
  }

  House house_;
  Visitor visitor_{house_};
  TaskView task_;
};

TEST(Login, TakesACodeOnceInAnyCaseAndKeepsTheCookieFromScripts) {
  House house;
  Visitor visitor(house);
  EXPECT_EQ(visitor.get("/tasks").status, 303);
  EXPECT_EQ(visitor.get("/tasks").headers["Location"], "/login?next=%2Ftasks");
  std::string code = code_of(house, "bob");
  for (char& c : code) c = static_cast<char>(std::tolower(c));
  HttpResponse response = visitor.log_in(" " + code + " ");
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(response.headers["Location"], "/board");
  for (const char* part : {"HttpOnly", "SameSite=Strict", "Path=/"})
    EXPECT_TRUE(response.headers["Set-Cookie"].contains(part)) << part;
  EXPECT_EQ(visitor.get("/tasks").status, 200);
  Visitor other(house);
  EXPECT_EQ(other.log_in(code).status, 401);
  EXPECT_EQ(other.get("/tasks").status, 303);
}

TEST(Login, UnderTlsTheCookieIsSecureAndOfThisHostOnly) {
  House house;
  Visitor visitor(house, {.hosts = {"proof.example"}, .has_tls = true});
  HttpRequest request = visitor.form("/login", {{"code", code_of(house, "bob")}});
  request.headers["host"] = "proof.example";
  request.headers["origin"] = "https://proof.example";
  HttpResponse response = visitor.send(request);
  EXPECT_EQ(response.status, 303);
  EXPECT_TRUE(response.headers["Set-Cookie"].starts_with("__Host-proofhouse="));
  EXPECT_TRUE(response.headers["Set-Cookie"].contains("; Secure"));
}

TEST(Login, EndsWithTheTokenBehindItAndByLoggingOut) {
  House house;
  const Actor admin = house.actor("admin");
  const auto token = house.core->create_token(admin, "bob", std::chrono::hours(1));
  const Actor bob = *house.core->authenticate(token->token);
  Visitor visitor(house);
  ASSERT_EQ(visitor.log_in(house.core->create_login_code(bob)->code).status, 303);
  ASSERT_EQ(visitor.get("/board").status, 200);
  ASSERT_TRUE(house.core->revoke_token(admin, token->id).has_value());
  EXPECT_EQ(visitor.get("/board").status, 303);

  ASSERT_EQ(visitor.log_in(code_of(house, "bob")).status, 303);
  EXPECT_EQ(visitor.post("/logout", {{"csrf", "wrong"}}).status, 403);
  EXPECT_EQ(visitor.get("/board").status, 200);
  EXPECT_EQ(visitor.post("/logout", {{"csrf", visitor.csrf()}}).status, 303);
  EXPECT_EQ(visitor.get("/board").status, 303);
}

TEST(Login, GuessingIsSlowedDownForRightCodesToo) {
  House house;
  const std::string code = code_of(house, "bob");
  Visitor visitor(house);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(visitor.log_in("BCD-BCD-BCD").status, 401);
  EXPECT_EQ(visitor.log_in("BCD-BCD-BCD").status, 429);
  EXPECT_EQ(visitor.log_in(code).status, 429);
}

TEST(Login, LeadsToNoOtherServer) {
  House house;
  Visitor visitor(house);
  for (const char* next : {"//evil.example", "https://evil.example", "/\\evil.example", "evil"}) {
    HttpResponse response =
        visitor.post("/login", {{"code", code_of(house, "bob")}, {"next", next}});
    EXPECT_EQ(response.headers["Location"], "/tasks") << next;
  }
}

TEST(Board, ListsTheGpusOfTheMachine) {
  House house;
  sandbox::gpu::GpuStatus gpu;
  gpu.uuid = "GPU-1";
  gpu.name = "H100";
  gpu.is_cordoned = true;
  gpu.reason = "new fan";
  house.machine.probe.gpus = {gpu};
  Visitor visitor{house};
  ASSERT_EQ(visitor.log_in(code_of(house, "bob")).status, 303);
  const std::string board = visitor.get("/board").body;
  for (const char* const part : {"H100", "GPU-1", "free, cordoned", "new fan"})
    EXPECT_TRUE(board.contains(part)) << part;
}

TEST_F(Pages, AnApprovalByFormLandsTheChange) {
  HttpResponse response = visitor_.post(path(), decision_on(task_, visitor_.csrf(), "approve"));
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(response.headers["Location"], "/tasks/" + task_.id + "?said=approve");
  const TaskView done = house_.wait_for(task_.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value());
  EXPECT_EQ(house_.repository.tip(), task_.candidate_commit);
  EXPECT_TRUE(visitor_.get("/tasks/" + task_.id).body.contains("promoted"));
}

TEST_F(Pages, ARefusalByFormNeedsAReason) {
  Fields fields = decision_on(task_, visitor_.csrf(), "refuse");
  fields["reason"] = "";
  EXPECT_EQ(visitor_.post(path(), fields).status, 422);
  fields["reason"] = "not <b>good</b>";
  EXPECT_EQ(visitor_.post(path(), fields).status, 303);
  const std::string page = visitor_.get("/tasks/" + task_.id).body;
  EXPECT_TRUE(page.contains("not &lt;b&gt;good&lt;/b&gt;"));
  EXPECT_EQ(now().failure_class, "review");
}

TEST_F(Pages, FormsOfOthersDoNothing) {
  const auto header = [](const std::string& name, const std::string& value) {
    return [=](HttpRequest& request) { request.headers[name] = value; };
  };
  expect_refused(403, header("origin", "http://evil.example"));
  expect_refused(403, header("origin", "http://127.0.0.1:9999"));  // another port of this host
  expect_refused(403, header("origin", "https://127.0.0.1:8470"));
  expect_refused(403, header("origin", "null"));
  expect_refused(403, [](HttpRequest& request) { request.headers.erase("origin"); });
  expect_refused(403, header("sec-fetch-site", "cross-site"));
  expect_refused(403, header("sec-fetch-site", "same-site"));
  expect_refused(403, header("content-type", "text/plain"));
  expect_refused(403, header("content-type", "multipart/form-data; boundary=x"));
  expect_refused(403, header("host", "evil.example:8470"));
  expect_refused(401, header("cookie", ""));
  expect_refused(401, header("cookie", "proofhouse=" + std::string(64, 'a')));
  // A second cookie of that name may come from another port: neither counts.
  expect_refused(401, [&](HttpRequest& request) {
    request.headers["cookie"] = visitor_.cookie + "; proofhouse=" + std::string(64, 'a');
  });
  expect_refused(404, [](HttpRequest& request) { request.method = "GET"; });
}

TEST_F(Pages, AFormNeedsTheTokenOfItsOwnSession) {
  Visitor other(house_);
  ASSERT_EQ(other.log_in(code_of(house_, "carol")).status, 303);
  for (const std::string& csrf : {std::string(), std::string(40, '0'), other.csrf()})
    expect_refused(403, [&](HttpRequest& request) {
      request.body = tests::body_of(decision_on(task_, csrf, "approve"));
    });
}

TEST_F(Pages, ADecisionIsAboutWhatWasSeen) {
  const auto changed = [&](const std::string& field, const std::string& value) {
    return [this, field, value](HttpRequest& request) {
      Fields fields = decision_on(task_, visitor_.csrf(), "approve");
      fields[field] = value;
      request.body = tests::body_of(fields);
    };
  };
  expect_refused(412, changed("commit", std::string(40, 'a')));
  expect_refused(412, changed("diff_digest", std::string(64, 'a')));
  expect_refused(412, changed("etag", std::string(32, 'a')));
  expect_refused(428, changed("commit", ""));
  expect_refused(428, changed("diff_digest", ""));
  expect_refused(428, changed("etag", ""));
  expect_refused(422, changed("decision", "maybe"));
}

TEST_F(Pages, ADoubleClickDecidesOnce) {
  const HttpRequest request = visitor_.form(path(), decision_on(task_, visitor_.csrf(), "approve"));
  std::vector<int> statuses(4);
  {
    std::vector<std::jthread> clicks;
    for (int& status : statuses)
      clicks.emplace_back([&] { status = visitor_.send(request).status; });
  }
  EXPECT_EQ(std::ranges::count(statuses, 303), 1);
  for (const int status : statuses) EXPECT_TRUE(status == 303 || status == 409 || status == 412);
  EXPECT_EQ(house_.wait_for(task_.id, TaskState::done).approvals.size(), 1U);
}

TEST_F(Pages, NobodyApprovesTheirOwnChangeAndAuthorsDecideNothing) {
  for (const auto& [name, status] : {std::pair{"alice", 403}, std::pair{"author", 403}}) {
    Visitor own(house_);
    ASSERT_EQ(own.log_in(code_of(house_, name)).status, 303);
    EXPECT_EQ(own.post(path(), decision_on(task_, own.csrf(), "approve")).status, status) << name;
  }
  EXPECT_TRUE(now().approvals.empty());
}

// A house whose policy lets owners override, with a task that failed its tests.
class Overriding : public testing::Test {
 protected:
  void SetUp() override {
    house_.machine.script = [](tests::ScriptedTask& task) {
      task.on(tasks::Side::change, "test").cases =
          tests::with_status(tests::passing({"A.Ok"}), "A.Ok", tasks::CaseStatus::failed);
    };
    runner::ProjectSpec spec;
    spec.name = "lenient";
    spec.repository = house_.repository.path();
    spec.policy_yaml = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, total: 10m}
steps:
  test: {run: "true", report: {gtest-json: report.json}}
gates:
  tests: {kind: tests, steps: [test]}
promotion: {approvals: 1, override: owners}
)";
    const Actor admin = house_.actor("admin");
    ASSERT_TRUE(house_.core->add_project(admin, spec).has_value());
    for (const auto& [name, role] :
         {std::pair{"author", Role::agent}, std::pair{"bob", Role::owner},
          std::pair{"carol", Role::owner}, std::pair{"alice", Role::reviewer}})
      ASSERT_TRUE(house_.core->grant(admin, {.principal = name, .project = "lenient", .role = role})
                      .has_value());
    Submission submission = house_.submission();
    submission.project = "lenient";
    task_ = house_.wait_for(house_.submit(submission).id, TaskState::done);
    ASSERT_EQ(task_.verdict, "rejected");
  }
  Fields override_on(const std::string& csrf) const {
    Fields fields = decision_on(task_, csrf, "override");
    fields["override"] = "tests";
    return fields;
  }
  HttpResponse send(Visitor& visitor, const Fields& fields) const {
    return visitor.post("/tasks/" + task_.id + "/decision", fields);
  }
  std::string page_of(Visitor& visitor) { return visitor.get("/tasks/" + task_.id).body; }

  House house_;
  TaskView task_;
};

TEST_F(Overriding, ByFormTakesTwoOwnersAndAReason) {
  Visitor bob(house_);
  Visitor carol(house_);
  ASSERT_EQ(bob.log_in(code_of(house_, "bob")).status, 303);
  ASSERT_EQ(carol.log_in(code_of(house_, "carol")).status, 303);
  EXPECT_TRUE(page_of(bob).contains("name=\"override\" value=\"tests\" required"));
  EXPECT_FALSE(page_of(bob).contains("approve-form"));
  EXPECT_EQ(send(bob, override_on(bob.csrf())).status, 303);
  task_ = *house_.core->task(house_.actor("carol"), task_.id);
  EXPECT_EQ(task_.state, TaskState::awaiting_approval);
  EXPECT_TRUE(page_of(carol).contains("override-form"));
  EXPECT_TRUE(page_of(carol).contains("refuse-form"));
  EXPECT_FALSE(page_of(carol).contains("approve-form"));
  EXPECT_EQ(send(carol, override_on(carol.csrf())).status, 303);
  const TaskView done = house_.wait_for(task_.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value()) << done.reason.text;
  EXPECT_EQ(house_.repository.tip(), task_.candidate_commit);
}

TEST_F(Overriding, WhatIsMissingOrForgedOverridesNothing) {
  Visitor bob(house_);
  Visitor alice(house_);
  ASSERT_EQ(bob.log_in(code_of(house_, "bob")).status, 303);
  ASSERT_EQ(alice.log_in(code_of(house_, "alice")).status, 303);
  EXPECT_FALSE(page_of(alice).contains("override-form"));
  const auto changed = [&](const std::string& field, const std::string& value) {
    Fields fields = override_on(bob.csrf());
    fields[field] = value;
    return fields;
  };
  Fields unnamed = override_on(bob.csrf());
  unnamed.erase("override");
  EXPECT_EQ(send(bob, unnamed).status, 422);
  EXPECT_EQ(send(bob, changed("override", "speed")).status, 422);
  EXPECT_EQ(send(bob, changed("reason", "")).status, 422);
  EXPECT_EQ(send(bob, changed("commit", std::string(40, 'a'))).status, 412);
  EXPECT_EQ(send(bob, changed("decision", "approve")).status, 409);
  EXPECT_EQ(send(bob, changed("csrf", alice.csrf())).status, 403);
  EXPECT_EQ(send(alice, override_on(alice.csrf())).status, 403);
  const TaskView now = *house_.core->task(house_.actor("carol"), task_.id);
  EXPECT_EQ(now.etag, task_.etag);
  EXPECT_TRUE(now.approvals.empty());
}

TEST_F(Pages, ForeignHostsAndStrangersSeeNothing) {
  const std::string base = "/tasks/" + task_.id;
  for (const std::string& page :
       {std::string("/tasks"), std::string("/board"), std::string("/projects"),
        std::string("/projects/sample"), base, base + "/diff", base + "/patch", base + "/report",
        base + "/logs/test", base + "/live"}) {
    EXPECT_EQ(visitor_.get(page).status, 200) << page;
    HttpRequest request;
    request.method = "GET";
    request.path = page;
    request.headers = {{"host", "evil.example"}, {"cookie", visitor_.cookie}};
    EXPECT_EQ(visitor_.send(request).status, 403) << page;
    request.headers = {{"host", "localhost"}};
    EXPECT_EQ(visitor_.send(request).status, 303) << page;
  }
  const Actor admin = house_.actor("admin");
  ASSERT_TRUE(house_.core->create_principal(admin, {.name = "eve", .owner = ""}).has_value());
  Visitor eve(house_);
  ASSERT_EQ(eve.log_in(code_of(house_, "eve")).status, 303);
  for (const std::string& page : {base, base + "/diff", base + "/patch", base + "/logs/test"})
    EXPECT_EQ(eve.get(page).status, 404) << page;
  EXPECT_FALSE(eve.get("/tasks", {{"view", "all"}}).body.contains(task_.id));
}

TEST_F(Pages, NothingThatAChangeWroteIsMarkup) {
  Submission submission = house_.submission("\"src/<img src=x onerror=hit()>.txt\"",
                                            "<script>hit()</script>\n\xe2\x80\xae bidi \x1b[31m\n");
  submission.title = "<img src=x onerror=hit()> \"'\xe2\x80\xae";
  submission.claims.text = "</p><script>hit()</script>";
  submission.family = "f";
  const TaskView task = house_.wait_for(house_.submit(submission).id, TaskState::awaiting_approval);
  const std::string base = "/tasks/" + task.id;
  std::string all;
  for (const std::string& page :
       {base, base + "/diff", std::string("/tasks"), std::string("/board")})
    all += visitor_.get(page).body;
  all += visitor_.get(base + "/diff", {{"view", "split"}}).body;
  all += visitor_.get(base + "/diff", {{"against", task_.id}}).body;
  all += visitor_.get(base + "/logs/test", {{"q", "<script>hit()</script>"}}).body;
  all += visitor_.get("/tasks", {{"author", "\"><script>hit()</script>"}}).body;
  all += visitor_.get("/login", {{"next", "/\"><script>hit()</script>"}}).body;
  EXPECT_FALSE(all.contains("<img"));
  EXPECT_FALSE(all.contains("<script>"));
  EXPECT_FALSE(all.contains("\xe2\x80\xae"));
  EXPECT_FALSE(all.contains('\x1b'));
  EXPECT_TRUE(all.contains("&lt;img src=x onerror=hit()&gt; &quot;&#39;\\u{202e}"));
  EXPECT_TRUE(all.contains("<b class=\"x\">\\u{202e}</b> bidi <b class=\"x\">\\x1b</b>[31m"));
  // Bytes of others are saved, not shown.
  HttpResponse patch = visitor_.get(base + "/patch");
  EXPECT_TRUE(patch.headers["Content-Disposition"].starts_with("attachment"));
  EXPECT_TRUE(patch.headers["Content-Security-Policy"].contains("sandbox"));
}

TEST_F(Pages, LoadNothingFromElsewhereAndSayWhatMayRun) {
  const std::string base = "/tasks/" + task_.id;
  for (const std::string& page : {std::string("/login"), std::string("/tasks"), base,
                                  base + "/diff", base + "/logs/test", std::string("/nowhere")}) {
    HttpResponse response = visitor_.get(page);
    EXPECT_FALSE(response.body.contains("//")) << page;
    EXPECT_FALSE(response.body.contains(" style=")) << page;
    EXPECT_FALSE(response.body.contains(" onclick")) << page;
    const std::string policy = response.headers["Content-Security-Policy"];
    EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'")) << page;
    EXPECT_TRUE(policy.contains("frame-ancestors 'none'")) << page;
  }
  for (const Asset& asset : all_assets()) {
    HttpResponse response = visitor_.get("/assets/" + std::string(asset.hashed));
    EXPECT_EQ(response.body, asset.bytes);
    HttpRequest again;
    again.method = "GET";
    again.path = "/assets/" + std::string(asset.hashed);
    again.headers["if-none-match"] = response.headers["ETag"];
    EXPECT_EQ(visitor_.send(again).status, 304);
  }
  EXPECT_EQ(visitor_.get("/assets/style.css").status, 404);
}

}  // namespace
}  // namespace runner::web
