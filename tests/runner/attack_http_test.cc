// Attempts to act in a reviewer's name, or on a reviewer's browser, over HTTP: a real server, and
// requests written byte by byte.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "runner/http/api.h"
#include "runner/http/server.h"
#include "sandbox/os/fd.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using tests::House;
using tests::shell;

class HttpAttack : public testing::Test {
 protected:
  HttpAttack() : api_(*house_.core, {}) {
    HttpOptions options;
    options.threads = 24;
    auto started = HttpServer::start(options, api_.routes(), [this](const HttpRequest& request) {
      return api_.fallback(request);
    });
    os::check(started.has_value(), "a server");
    server_ = std::move(*started);
  }

  os::Fd connect() const {
    os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return socket;
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(server_->port()); }

  // The whole answer to a request whose head is `lines` and Connection: close.
  std::string ask(const std::string& line, const std::vector<std::string>& headers,
                  const std::string& body = {}) const {
    std::string text = line + " HTTP/1.1\r\nConnection: close\r\n";
    for (const std::string& header : headers) text += header + "\r\n";
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n" + body;
    const os::Fd socket = connect();
    EXPECT_TRUE(os::write_all(socket.get(), text).has_value());
    std::string answer;
    std::array<char, 4096> piece{};
    while (true) {
      const ssize_t count = ::read(socket.get(), piece.data(), piece.size());
      if (count <= 0) break;
      answer.append(piece.data(), static_cast<std::size_t>(count));
    }
    return answer;
  }
  static int status_in(const std::string& answer) {
    return answer.size() > 12 ? std::atoi(answer.c_str() + 9) : 0;
  }
  std::string token_of(const std::string& name) {
    return house_.core->create_token(house_.actor("admin"), name, std::chrono::hours(1))->token;
  }
  std::vector<std::string> headers_of(const std::string& name) {
    return {"Host: " + host(), "Authorization: Bearer " + token_of(name)};
  }
  TaskView waiting(const Submission& submission) {
    const TaskView task = house_.submit(submission);
    return house_.wait_for(task.id, TaskState::awaiting_approval);
  }

  House house_;
  Api api_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpAttack, ADecisionIsNotForgedFromAPageOfAnotherOrigin) {
  const TaskView task = waiting(house_.submission());
  const std::string post = "POST /v1/tasks/" + task.id + "/approvals";
  const std::string body = R"({"decision":"approve","commit":")" + task.candidate_commit + "\"}";
  const std::string match = "If-Match: \"" + task.etag + "\"";
  const std::string bearer = "Authorization: Bearer " + token_of("bob");
  const std::string ours = "Host: " + host();
  const std::string typed = "Content-Type: application/json";
  struct Try {
    const char* name;
    std::vector<std::string> headers;
    int status;
  };
  const std::vector<Try> tries{
      {"a form without a token", {ours, "Content-Type: application/x-www-form-urlencoded"}, 401},
      {"text that is JSON", {ours, "Content-Type: text/plain", match}, 401},
      {"a cookie is no token", {ours, "Cookie: token=" + bearer.substr(22), typed, match}, 401},
      {"another origin", {ours, bearer, typed, match, "Origin: https://evil.example"}, 403},
      {"no origin at all", {ours, bearer, typed, match, "Origin: null"}, 403},
      {"another port", {ours, bearer, typed, match, "Origin: http://127.0.0.1:1"}, 403},
      {"a rebound name", {"Host: evil.example", bearer, typed, match}, 403},
      {"a name like ours", {"Host: 127.0.0.1.evil.example", bearer, typed, match}, 403},
      {"no host", {bearer, typed, match}, 403},
      {"without what was seen", {ours, bearer, typed}, 428},
      {"of something else", {ours, bearer, typed, "If-Match: \"x\""}, 412}};
  for (const Try& each : tries) {
    const int status = status_in(ask(post, each.headers, body));
    // A server may refuse a request without a host before it is routed.
    const bool is_refused = status == each.status || (status == 400 && each.headers[0] == bearer);
    EXPECT_TRUE(is_refused) << each.name << ": " << status;
  }
  for (const char* const method : {"GET", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"})
    EXPECT_GE(
        status_in(ask(method + (" /v1/tasks/" + task.id) + "/approvals",
                      {ours, bearer, match, "X-HTTP-Method-Override: POST", "Content-Length: 0"})),
        400)
        << method;
  const TaskView now = *house_.core->task(house_.actor("bob"), task.id);
  EXPECT_EQ(now.etag, task.etag);
  EXPECT_TRUE(now.approvals.empty());
  EXPECT_EQ(house_.repository.tip(), task.base_commit);
  // The same request as it should be.
  EXPECT_EQ(status_in(ask(post, {ours, bearer, typed, match, "Origin: http://" + host()}, body)),
            200);
}

TEST_F(HttpAttack, MarkupInNamesAndOutputIsNeverServedAsAPage) {
  const std::string markup = "<img src=x onerror=alert(1)>";
  house_.machine.script = [&](tests::ScriptedTask& task) {
    tests::Script said;
    said.cases = tests::passing({"A.Ok", "B." + markup});
    task.everywhere("test", said);
  };
  Submission submission = house_.submission("src/a.txt", markup + "\n");
  submission.patch =
      shell("cd " + house_.directory.path() + "; rm -rf evil; git clone -q " +
            house_.repository.path() + " evil; cd evil; echo '" + markup + "' > 'src/" + markup +
            ".txt'; git add -A; git diff --cached --binary --full-index");
  submission.title = markup;
  submission.claims.text = markup;
  const TaskView task = waiting(submission);
  const std::vector<std::string> headers = headers_of("bob");
  const std::string root = "/v1/tasks/" + task.id;
  for (const std::string& path :
       {root, root + "/diff", root + "/logs/test", root + "/report.json", root + "/report.md",
        root + "/why", std::string("/v1/tasks"), root + "/logs/" + "%3Cimg%20src=x%3E",
        std::string("/v1/%3Cimg%20src=x%20onerror=alert(1)%3E"),
        std::string("/v1/tasks/%3Cscript%3E")}) {
    const std::string answer = ask("GET " + path, headers);
    const std::string head = answer.substr(0, answer.find("\r\n\r\n"));
    EXPECT_NE(status_in(answer), 0) << path;
    EXPECT_FALSE(head.contains("text/html")) << path << "\n" << head;
    EXPECT_FALSE(head.contains("image/svg")) << path;
    EXPECT_TRUE(head.contains("X-Content-Type-Options: nosniff")) << path << "\n" << head;
  }
  // What is raw is a download in which nothing runs.
  for (const std::string& path : {root + "/diff", root + "/logs/test"}) {
    const std::string answer = ask("GET " + path, headers);
    EXPECT_EQ(status_in(answer), 200) << path;
    EXPECT_TRUE(answer.contains("Content-Disposition: attachment")) << path;
    EXPECT_TRUE(answer.contains("sandbox")) << path;
  }
  EXPECT_FALSE(ask("GET " + root + "/report.md", headers).contains(markup))
      << "Markdown passes markup on to whoever renders it";
}

TEST_F(HttpAttack, ReadsAreFilteredByGrants) {
  const TaskView task = waiting(house_.submission());
  const Actor admin = house_.actor("admin");
  ASSERT_TRUE(house_.core->create_principal(admin, {.name = "eve", .owner = ""}).has_value());
  ASSERT_TRUE(house_.core->create_principal(admin, {.name = "other", .owner = ""}).has_value());
  ASSERT_TRUE(
      house_.core->grant(admin, {.principal = "other", .project = "sample", .role = Role::agent})
          .has_value());
  const std::string root = "/v1/tasks/" + task.id;
  // A stranger, and an agent who submitted something else.
  for (const char* const name : {"eve", "other"}) {
    const std::vector<std::string> headers = headers_of(name);
    for (const char* const path : {"", "/diff", "/logs/test", "/report.json", "/report.md", "/why",
                                   "/events", "/attestations", "/artifacts/x"})
      EXPECT_EQ(status_in(ask("GET " + root + path, headers)), 404) << name << " " << path;
    EXPECT_FALSE(ask("GET /v1/tasks", headers).contains(task.id)) << name;
    EXPECT_FALSE(ask("GET /v1/tasks?principal=author", headers).contains(task.id)) << name;
    EXPECT_EQ(status_in(ask("GET /v1/audit", headers)), 403) << name;
    EXPECT_EQ(status_in(ask("GET /v1/audit/head", headers)), 403) << name;
    EXPECT_EQ(status_in(ask("GET /v1/tokens", headers)), 403) << name;
    EXPECT_EQ(status_in(ask("DELETE " + root, headers)), 404) << name;
  }
  EXPECT_FALSE(ask("GET /v1/projects", headers_of("eve")).contains("sample"));
  // The key is for everybody.
  EXPECT_EQ(status_in(ask("GET /v1/keys", {"Host: " + host()})), 200);
  EXPECT_EQ(status_in(ask("GET /v1/audit", {"Host: " + host()})), 401);
}

TEST_F(HttpAttack, AFloodOfStreamsIsBounded) {
  const std::vector<std::string> headers = headers_of("bob");
  std::string text = "GET /v1/events HTTP/1.1\r\n";
  for (const std::string& header : headers) text += header + "\r\n";
  text += "\r\n";
  std::vector<os::Fd> streams;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    streams.push_back(connect());
    ASSERT_TRUE(os::write_all(streams.back().get(), text).has_value());
    std::array<char, 16> head{};
    ASSERT_GT(::recv(streams.back().get(), head.data(), head.size(), MSG_WAITALL), 0);
    if (std::string_view(head.data(), head.size()).contains(" 503")) ++refused;
  }
  EXPECT_EQ(refused, 4);
  // The others are served meanwhile.
  EXPECT_EQ(status_in(ask("GET /v1/tasks", headers_of("carol"))), 200);
  // What happens next finds them gone, and ends them.
  streams.clear();
  waiting(house_.submission());
}

}  // namespace
}  // namespace runner
