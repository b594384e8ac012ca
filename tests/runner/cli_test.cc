#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runner/cli/answers.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/listen_address.h"
#include "runner/cli/private_executor.h"
#include "runner/cli/privileges.h"
#include "runner/cli/server_address.h"
#include "runner/cli/sse.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/files.h"

namespace runner::cli {
namespace {

TEST(ExitCode, FollowsTheTableOfEnds) {
  EXPECT_EQ(exit_code_of(TaskEnd{"queued", "", ""}), 6);
  EXPECT_EQ(exit_code_of(TaskEnd{"running", "", ""}), 6);
  EXPECT_EQ(exit_code_of(TaskEnd{"promoting", "accepted", ""}), 6);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "accepted", ""}), 0);
  EXPECT_EQ(exit_code_of(TaskEnd{"awaiting_approval", "accepted", ""}), 8);
  EXPECT_EQ(exit_code_of(TaskEnd{"awaiting_approval", "inconclusive", "benchmark"}), 9);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "rejected", "test"}), 1);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "inconclusive", "benchmark"}), 9);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "error", "infra"}), 3);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "cancelled", ""}), 130);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "ran", ""}), 0);
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "ran", "test"}), 1);
}

TEST(ExitCode, TakesAnUnknownVerdictForAnError) {
  EXPECT_EQ(exit_code_of(TaskEnd{"done", "splendid", ""}), 3);
}

TEST(ExitCode, FollowsTheTableOfHttpStatuses) {
  for (const int status : {200, 202, 204, 304}) EXPECT_EQ(exit_code_of_status(status), 0) << status;
  for (const int status : {401, 403}) EXPECT_EQ(exit_code_of_status(status), 4) << status;
  EXPECT_EQ(exit_code_of_status(404), 5);
  for (const int status : {409, 412, 422, 428}) EXPECT_EQ(exit_code_of_status(status), 7) << status;
  for (const int status : {429, 500, 503, 0}) EXPECT_EQ(exit_code_of_status(status), 3) << status;
  EXPECT_EQ(exit_code_of_status(400), 2);
}

TEST(Escape, MakesControlsVisible) {
  EXPECT_EQ(escape_text("a\x1b[2Jb\r\x7f\a"), "a\\x1b[2Jb\\x0d\\x7f\\x07");
  EXPECT_EQ(escape_text("tab\there\nline"), "tab\there\nline");
  EXPECT_EQ(escape_line("tab\there\nline"), "tab\\there\\nline");
}

TEST(Escape, MakesC1BidiAndZeroWidthCharactersVisible) {
  EXPECT_EQ(escape_text("\xc2\x9b"
                        "31m"),
            "\\u009b31m");                                    // CSI as one character
  EXPECT_EQ(escape_text("\xe2\x80\xae"), "\\u202e");          // right-to-left override
  EXPECT_EQ(escape_text("\xe2\x81\xa6"), "\\u2066");          // isolate
  EXPECT_EQ(escape_text("\xe2\x80\x8b"), "\\u200b");          // zero-width space
  EXPECT_EQ(escape_text("\xef\xbb\xbf"), "\\ufeff");          // byte order mark
  EXPECT_EQ(escape_text("\xf3\xa0\x81\x81"), "\\U000e0041");  // tag letter
  EXPECT_EQ(escape_text("\xe2\x80\xa8"), "\\u2028");          // line separator
}

TEST(Escape, KeepsTextOfOtherScripts) {
  const std::string text = "größer Ελλάδα 漢字 🙂";
  EXPECT_EQ(escape_text(text), text);
}

TEST(Escape, ShowsBytesThatAreNoText) {
  EXPECT_EQ(escape_text("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(escape_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape_text("\xe2\x82"), "\\xe2\\x82");           // unfinished
}

TEST(Escape, OfJsonKeepsTheValue) {
  EXPECT_EQ(escape_json("{\"a\":\"\xe2\x80\xae\x7f\"}"), "{\"a\":\"\\u202e\\u007f\"}");
  EXPECT_EQ(escape_json("\"\xf3\xa0\x81\x81\""), "\"\\udb40\\udc41\"");
}

TEST(Escape, KnowsWhatIsLeftUnfinished) {
  EXPECT_EQ(unfinished_bytes("ab"), 0U);
  EXPECT_EQ(unfinished_bytes("ab\xe2"), 1U);
  EXPECT_EQ(unfinished_bytes("ab\xe2\x82"), 2U);
  EXPECT_EQ(unfinished_bytes("ab\xe2\x82\xac"), 0U);
  EXPECT_EQ(unfinished_bytes("\xf0\x9f\x99"), 3U);
}

class Address : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::string path = directory_ / name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  AddressSources sources() {
    AddressSources sources;
    sources.variable = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
    sources.config_file = config_;
    if (!runtime_.empty()) sources.runtime_files = {runtime_};
    return sources;
  }

  os::TempDir directory_ = os::TempDir::create().value();
  std::map<std::string, std::string> variables_;
  std::string config_, runtime_;
};

TEST_F(Address, ComesFromTheFlagsFirst) {
  variables_ = {{"PROOFHOUSE_URL", "http://127.0.0.1:2"},
                {"PROOFHOUSE_TOKEN_FILE", file("variable", "b")},
                {"PROOFHOUSE_TOKEN", "c"}};
  const auto found = find_server(
      {.url = "http://127.0.0.1:1/", .token_file = file("flag", "a\n"), .json = false}, sources());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->url, "http://127.0.0.1:1");
  EXPECT_EQ(found->token, "a");
}

TEST_F(Address, ComesFromTheEnvironmentThenFromTheUserThenFromARunningServer) {
  runtime_ = file("default.json", R"({"schema":1,"url":"http://127.0.0.1:4","token_file":")" +
                                      file("admin", "d") + "\"}");
  EXPECT_EQ(find_server({}, sources()).value().token, "d");
  EXPECT_EQ(find_server({}, sources()).value().url, "http://127.0.0.1:4");
  config_ = file("config.yaml", "url: http://127.0.0.1:3\ntoken_file: " + file("user", "c") + "\n");
  EXPECT_EQ(find_server({}, sources()).value().url, "http://127.0.0.1:3");
  EXPECT_EQ(find_server({}, sources()).value().token, "c");
  variables_["PROOFHOUSE_TOKEN"] = "b";
  EXPECT_EQ(find_server({}, sources()).value().token, "b");
  variables_["PROOFHOUSE_TOKEN_FILE"] = file("variable", "a");
  EXPECT_EQ(find_server({}, sources()).value().token, "a");
}

TEST_F(Address, DoesNotGiveTheTokenOfOneServerToAnother) {
  config_ = file("config.yaml", "url: http://127.0.0.1:3\ntoken_file: " + file("user", "c") + "\n");
  const auto found =
      find_server({.url = "http://127.0.0.1:9", .token_file = "", .json = false}, sources());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->token, "");
}

TEST_F(Address, RefusesATokenFileThatOthersCanRead) {
  for (const mode_t mode : {0640U, 0604U, 0660U}) {
    const auto found = find_server(
        {.url = "http://127.0.0.1:1", .token_file = file("open", "t", mode), .json = false},
        sources());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, os::Code::denied);
    EXPECT_NE(found.error().message.find("chmod 600"), std::string::npos);
  }
}

TEST_F(Address, RefusesATokenFileThatIsNoFile) {
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_token_file(fifo).error().code, os::Code::denied);
  EXPECT_EQ(read_token_file(file("empty", "\n")).error().code, os::Code::invalid);
  EXPECT_EQ(read_token_file(file("two", "a b\n")).error().code, os::Code::invalid);
}

TEST_F(Address, RefusesUrlsThatAreNone) {
  for (const char* url : {"https://x", "ftp://x", "127.0.0.1:1", "http://", "http://a/b",
                          "http://u@h", "http://a b"}) {
    variables_["PROOFHOUSE_URL"] = url;
    EXPECT_EQ(find_server({}, sources()).error().code, os::Code::invalid) << url;
  }
}

TEST_F(Address, RefusesAnUnknownKeyInTheUsersConfiguration) {
  config_ = file("config.yaml", "urll: http://127.0.0.1:3\n");
  const auto found = find_server({}, sources());
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().message.find("url"), std::string::npos);
}

TEST_F(Address, SaysWhatToDoWhenThereIsNone) {
  const auto found = find_server({}, sources());
  EXPECT_EQ(found.error().code, os::Code::not_found);
  EXPECT_NE(found.error().message.find("proofhouse serve"), std::string::npos);
}

TEST_F(Address, OfAServerThatEndedIsNone) {
  runtime_ = file("default.json", "");
  EXPECT_EQ(find_server({}, sources()).error().code, os::Code::not_found);
}

TEST(AddressSources, NeverNameAFileBelowTheWorkingDirectory) {
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", "relative", 1), 0);
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", "./run", 1), 0);
  const AddressSources sources = address_sources();
  EXPECT_TRUE(sources.config_file.empty() || sources.config_file.front() == '/');
  EXPECT_EQ(sources.runtime_files, std::vector<std::string>{"/run/proofhouse/default.json"});
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(ListenAddress, IsLoopbackOnly) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8470").value().port, 8470);
  EXPECT_EQ(parse_listen_address("[::1]:0").value().host, "::1");
  EXPECT_EQ(url_of({.host = "::1", .port = 0}, 81), "http://[::1]:81");
  for (const char* text : {"", "8470", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000",
                           "0.0.0.0:8470", "[::]:1", "example.org:80"})
    EXPECT_EQ(parse_listen_address(text).error().code, os::Code::invalid) << text;
}

TEST(Accounts, AreNamesOrNumbersButNeverRoot) {
  EXPECT_EQ(find_account("938000").value().uid, 938000U);
  EXPECT_EQ(find_account("938000").value().gid, 938000U);
  EXPECT_EQ(find_account("root").error().code, os::Code::invalid);
  EXPECT_EQ(find_account("0").error().code, os::Code::invalid);
  EXPECT_EQ(find_account("nobody-of-that-name").error().code, os::Code::not_found);
}

TEST(ExecutorOptions, TravelUnchanged) {
  ExecutorOptions options;
  options.data = "/data";
  options.instance = "0123abcd";
  options.programs = "/usr/lib/proofhouse";
  options.serve_uid = 5;
  options.serve_gid = 6;
  options.gaps_allowed = {"idmap"};
  options.read_only_paths = {"/opt"};
  options.max_cpus = 3;
  options.max_memory = os::Bytes{1ULL << 40U};
  options.version = "1";
  const auto read = decode_executor_options(encode_executor_options(options));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->instance, options.instance);
  EXPECT_EQ(read->serve_gid, 6U);
  EXPECT_EQ(read->gaps_allowed, options.gaps_allowed);
  EXPECT_EQ(read->read_only_paths, options.read_only_paths);
  EXPECT_EQ(read->max_memory, options.max_memory);
  EXPECT_EQ(read->first_id, options.first_id);
  EXPECT_FALSE(decode_executor_options("{}").has_value());
  EXPECT_FALSE(decode_executor_options(R"({"schema":2})").has_value());
}

constexpr const char* kTask = R"({"id":"t_1","project":"p","intent":"promote","state":"done",
  "verdict":"rejected","failure_class":"test",
  "reason":{"text":"A.B failed\u001b[31m","next_step":"mend"},
  "guarded":["tests/x"],"base":{"commit":"b"},"candidate":{"commit":"c"},"diff_digest":"d",
  "gates":[{"name":"tests","status":"failed","assurance":"in-process","summary":"1 failed",
            "reasons":[{"text":"A.B failed"}]}],
  "approvals":{"needed":1,"valid":0,"given":[]},"asks":[],"promotion":null,"principal":"ada",
  "links":{"logs":{"test":"/x"}},"etag":"e","what_is_this":1})";

TEST(TaskAnswer, IsReadWithMembersThatAreNewToUs) {
  const auto task = read_task(kTask);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->end.verdict, "rejected");
  EXPECT_EQ(task->steps, std::vector<std::string>{"test"});
  EXPECT_EQ(task->gates.at(0).reasons.at(0), "A.B failed");
  EXPECT_FALSE(read_task("{}").has_value());
  EXPECT_FALSE(read_task("[1").has_value());
}

TEST(TaskText, EscapesWhatAChangeSaid) {
  const std::string text = task_text(read_task(kTask).value());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("A.B failed\\x1b[31m"), std::string::npos);
  EXPECT_NE(text.find("guarded files: tests/x"), std::string::npos);
  EXPECT_NE(text.find("rejected (test)"), std::string::npos);
}

TEST(Problem, IsReadWithItsNextStep) {
  const Problem problem = read_problem(
      R"({"code":"invalid_field","detail":"no","next_step":"do","line":"3",
          "errors":[{"pointer":"/a","detail":"bad"}]})");
  EXPECT_EQ(problem.code, "invalid_field");
  EXPECT_EQ(problem.next_step, "do");
  EXPECT_EQ(problem.fields.at(0).first, "/a");
  EXPECT_EQ(problem.extra.at(0).second, "3");
  EXPECT_EQ(read_problem("<html>").code, "");
}

TEST(Events, AreCutFromAStreamInAnyPieces) {
  const std::string stream =
      "retry: 3000\n\nid: 7\nevent: run.started\ndata: {\"data\":{\"step\":\"build\"}}\n\n: "
      "ping\n\n"
      "data: a\ndata: b\n\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EventParser parser;
    std::vector<Event> events;
    for (std::size_t at = 0; at < stream.size(); at += size)
      for (Event& event : parser.take(std::string_view(stream).substr(at, size)))
        events.push_back(std::move(event));
    ASSERT_EQ(events.size(), 2U) << size;
    EXPECT_EQ(events[0].id, "7");
    EXPECT_EQ(describe_event(events[0].type, events[0].data), "run.started build");
    EXPECT_EQ(events[1].data, "a\nb");
  }
}

TEST(Bodies, HoldOnlyWhatWasSaid) {
  SubmitCommand command;
  command.project = "p";
  EXPECT_EQ(submission_body(command, "diff", "", ""),
            R"({"change":{"patch":"diff"},"intent":"promote","priority":"normal","project":"p"})");
  command.fixes = {"A.B"};
  command.base = "b";
  EXPECT_EQ(submission_body(command, "", "c", "k"),
            R"({"base":"b","change":{"commit":"c","pack":"k"},"claims":{"fixes":["A.B"]},)"
            R"("intent":"promote","priority":"normal","project":"p"})");
}

}  // namespace
}  // namespace runner::cli
