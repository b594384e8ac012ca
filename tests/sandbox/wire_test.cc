#include "sandbox/wire.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox {
namespace {

using nlohmann::json;

RunRequest full_run() {
  RunRequest run;
  run.id = "run-1";
  run.domain = Domain::judge;
  run.profile = Profile::strict;
  run.workspace = "side";
  run.mode = WorkspaceMode::scratch;
  run.command = {"/bin/sh", "-euc", "echo \"x\"\n"};
  run.environment = {"PATH=/usr/bin"};
  run.limits.memory = os::Bytes{1ULL << 40U};
  run.limits.wall = std::chrono::milliseconds(1);
  run.mounts = {{MountSource::repository, "", "/in/repo"},
                {MountSource::output, "a/b", "/needs/a"}};
  run.clear = {"report.json"};
  run.collect = {{"report", "report.json", true, true, os::Bytes{5}, 6}};
  run.separate_error_output = true;
  run.out = os::Bytes{7};
  RunRequest beside = run;
  beside.id = "run-2";
  run.beside = {beside};
  return run;
}

RunResult full_result() {
  RunResult result;
  result.outcome = Outcome::killed("memory");
  result.limits_hit = {{"memory", 10, 9}, {"pids", 3, 3}};
  result.usage = {.wall_ms = 1,
                  .user_ms = 2,
                  .sys_ms = 3,
                  .wall_us = 1001,
                  .cpu_us = 5002,
                  .memory_peak = 1LL << 40U,
                  .pids_peak = 5,
                  .read_bytes = 6,
                  .written_bytes = 7,
                  .left_behind = 8};
  result.output_bytes = 100;
  result.head_bytes = 60;
  result.tail_bytes = 40;
  result.collected = {{"report", "missing", "", 0, 0}};
  result.level = "reduced";
  result.gaps = {"idmap"};
  RunResult beside;
  beside.outcome = Outcome::exited(2);
  result.beside = {beside};
  return result;
}

// The message of `run` with one change made to its JSON.
template <class Change>
std::string changed(const Change& change) {
  json message = json::parse(encode(Request(full_run())));
  change(message);
  return message.dump();
}

std::string complaint(const std::string& message) {
  const os::Result<Request> request = decode_request(message);
  if (request) return "accepted";
  EXPECT_EQ(request.error().code, os::Code::invalid);
  return request.error().message;
}

TEST(Wire, RequestsReadBackAsTheyWere) {
  WorkspaceRequest workspace;
  workspace.name = "w";
  workspace.domain = Domain::base;
  workspace.tree = std::string(40, 'a');
  workspace.directory = true;
  for (const Request& request : {Request(full_run()), Request(workspace), Request(CancelRequest{}),
                                 Request(PublishRequest{"run", "tree", std::string(40, 'b')}),
                                 Request(KeepLayerRequest{"w", std::string(64, 'c')})})
    EXPECT_EQ(decode_request(encode(request)).value(), request) << encode(request);
}

TEST(Wire, RepliesReadBackAsTheyWere) {
  const Reply result = decode_reply(encode(Reply{{}, full_result()})).value();
  EXPECT_EQ(result.result, full_result());
  const os::Error error{os::Code::exhausted, "too much", ENOSPC};
  EXPECT_EQ(decode_reply(encode(Reply{error, {}})).value().error, error);
  const Reply done = decode_reply(encode(Reply{})).value();
  EXPECT_FALSE(done.error || done.result);
}

TEST(Wire, BoundsReadBackAsTheyWere) {
  const Bounds bounds{.attempt = "a",
                      .cgroup = "proofhouse-00000000/a",
                      .ids = {{939'524'096, 65'000}, {4'294'901'760, 65'000}},
                      .attempt_uid = 4'294'967'294,
                      .attempt_gid = 5,
                      .cpus = {0, 3},
                      .memory = os::Bytes{1},
                      .gaps_allowed = {"idmap"},
                      .read_only_paths = {"/opt/tool"},
                      .driver_files = {},
                      .ahead = {}};
  EXPECT_EQ(decode_bounds(encode(bounds)).value(), bounds);
  EXPECT_FALSE(decode_bounds(encode(Request(full_run()))).has_value());
}

TEST(Wire, EncodingIsCanonical) {
  EXPECT_EQ(dump_json(json{{"b", 1}, {"a", {2, "x"}}}), R"({"a":[2,"x"],"b":1})");
  EXPECT_EQ(encode(Request(full_run())), encode(Request(full_run())));
}

TEST(Wire, UnknownKeysAreRefusedByName) {
  EXPECT_NE(complaint(changed([](json& m) { m["run"]["extra"] = 1; })).find("'extra' is unknown"),
            std::string::npos);
  EXPECT_NE(complaint(changed([](json& m) { m["run"]["limits"]["gpus"] = 1; })).find("'gpus'"),
            std::string::npos);
  EXPECT_NE(complaint(changed([](json& m) { m["cancel"] = json::object(); })), "accepted");
}

TEST(Wire, MissingKeysAreRefusedByName) {
  EXPECT_NE(complaint(changed([](json& m) { m["run"].erase("id"); })).find("'id' is missing"),
            std::string::npos);
  EXPECT_NE(complaint(changed([](json& m) { m.erase("schema"); })).find("schema"),
            std::string::npos);
  EXPECT_NE(complaint(changed([](json& m) { m["schema"] = 2; })).find("schema"), std::string::npos);
}

TEST(Wire, WrongTypesAndRangesAreRefusedByName) {
  const auto with = [](const char* key, json value) {
    return complaint(changed([&](json& m) { m["run"][key] = std::move(value); }));
  };
  EXPECT_NE(with("id", 1).find("'id'"), std::string::npos);
  EXPECT_NE(with("domain", "host").find("one of change, base, judge, reader"), std::string::npos);
  EXPECT_NE(with("command", "ls").find("'command'"), std::string::npos);
  EXPECT_NE(with("command", {1}).find("'command'"), std::string::npos);
  EXPECT_NE(with("separate_error_output", 1).find("'separate_error_output'"), std::string::npos);
  EXPECT_NE(with("out", -1).find("'out'"), std::string::npos);
  EXPECT_NE(with("out", 1.5).find("'out'"), std::string::npos);
  EXPECT_NE(with("out", std::uint64_t{1} << 63U).find("'out'"), std::string::npos);
  EXPECT_NE(with("limits", json::array()).find("'limits'"), std::string::npos);
  EXPECT_NE(complaint(changed([](json& m) { m["run"]["limits"]["cpus"] = 1LL << 40; })),
            "accepted");
}

TEST(Wire, DuplicateKeysAreRefused) {
  EXPECT_NE(complaint(R"({"schema":1,"cancel":{},"cancel":{}})").find("twice"), std::string::npos);
  EXPECT_FALSE(parse_json(R"({"a":{"b":1,"b":2}})").has_value());
  EXPECT_TRUE(parse_json(R"([{"b":1},{"b":2}])").has_value());
}

TEST(Wire, NestingIsBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(16)).has_value());
  EXPECT_EQ(parse_json(nested(17)).error().code, os::Code::invalid);
  EXPECT_TRUE(parse_json(nested(3), 3).has_value());
  EXPECT_FALSE(parse_json(nested(4), 3).has_value());
  EXPECT_FALSE(parse_json(nested(100'000)).has_value());
}

TEST(Wire, BrokenTextIsRefused) {
  for (const std::string_view text : {"", "{", "[1,]", "nul", "{\"a\":1}x", "\"\xff\"", "'a'"})
    EXPECT_EQ(parse_json(text).error().code, os::Code::invalid) << text;
  EXPECT_EQ(decode_request("[]").error().code, os::Code::invalid);
  EXPECT_EQ(decode_request(R"({"schema":1})").error().code, os::Code::invalid);
  EXPECT_EQ(decode_request(R"({"schema":1,"dance":{}})").error().code, os::Code::invalid);
  EXPECT_EQ(decode_reply(R"({"schema":1,"done":{"x":1}})").error().code, os::Code::invalid);
}

TEST(Wire, InvalidUtf8IsReplacedAndSoReadable) {
  RunRequest run = full_run();
  run.command = {
      "a\xff"
      "b"};
  const Request read = decode_request(encode(Request(run))).value();
  EXPECT_EQ(std::get<RunRequest>(read).command.front(),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Wire, OutcomesCarryOnlyTheFieldsOfTheirKind) {
  EXPECT_EQ(dump_json(to_json(Outcome::exited(3))), R"({"code":3,"kind":"exited"})");
  EXPECT_EQ(dump_json(to_json(Outcome::signalled(9))), R"({"kind":"signalled","signal":9})");
  EXPECT_EQ(dump_json(to_json(Outcome::timed_out("idle"))),
            R"({"kind":"timed_out","limit":"idle"})");
  EXPECT_EQ(dump_json(to_json(Outcome::cancelled())), R"({"kind":"cancelled"})");
  EXPECT_EQ(dump_json(to_json(Outcome::setup_failed("mount", EPERM))),
            R"({"errno":1,"kind":"setup_failed","step":"mount"})");
  for (const Outcome& outcome :
       {Outcome::exited(3), Outcome::signalled(9), Outcome::killed("output"), Outcome::cancelled(),
        Outcome::setup_failed("x", 0)})
    EXPECT_EQ(outcome_from_json(to_json(outcome)).value(), outcome);
}

TEST(Wire, OutcomesWithForeignFieldsAreRefused) {
  for (const char* const text : {R"({"kind":"exited"})", R"({"kind":"exited","code":0,"signal":9})",
                                 R"({"kind":"died"})", R"({"kind":"killed","limit":1})",
                                 R"({"code":0})", R"([])", R"({"kind":"cancelled","code":0})"})
    EXPECT_EQ(outcome_from_json(json::parse(text)).error().code, os::Code::invalid) << text;
}

TEST(Wire, UsageAndLimitsReadBack) {
  const RunResult result = full_result();
  EXPECT_EQ(usage_from_json(to_json(result.usage)).value(), result.usage);
  EXPECT_EQ(limits_hit_from_json(to_json(result.limits_hit)).value(), result.limits_hit);
  EXPECT_FALSE(usage_from_json(json::object()).has_value());
}

}  // namespace
}  // namespace sandbox
