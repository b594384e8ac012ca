#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "runner/cli/options.h"

namespace runner::cli {
namespace {

using Words = std::vector<std::string>;

template <class T>
T parsed(const Words& words) {
  const Parsed result = parse_command_line(words);
  if (const auto* error = std::get_if<UsageError>(&result)) {
    ADD_FAILURE() << error->message;
    return {};
  }
  const auto* command = std::get_if<Command>(&result);
  if (command == nullptr || !std::holds_alternative<T>(*command)) {
    ADD_FAILURE() << "another command";
    return {};
  }
  return std::get<T>(*command);
}

std::string refusal(const Words& words) {
  const Parsed result = parse_command_line(words);
  const auto* error = std::get_if<UsageError>(&result);
  return error == nullptr ? std::string() : error->message;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Arguments, OfSubmit) {
  const auto command = parsed<SubmitCommand>({"submit", "-p", "mathkit", "--patch", "a.patch",
                                              "--fixes", "A.B", "--fixes", "C.D", "--wait",
                                              "--timeout", "90s", "--json", "--key", "k"});
  EXPECT_EQ(command.project, "mathkit");
  EXPECT_EQ(command.intent, "promote");
  EXPECT_EQ(command.fixes, (Words{"A.B", "C.D"}));
  EXPECT_EQ(command.timeout, std::chrono::seconds(90));
  EXPECT_TRUE(command.wait);
  EXPECT_TRUE(command.server.json);
  EXPECT_EQ(
      parsed<SubmitCommand>({"submit", "--project", "p", "--commit", "HEAD", "--intent", "verify"})
          .intent,
      "verify");
}

TEST(Arguments, OfRunNameSteps) {
  const auto command = parsed<SubmitCommand>({"run", "-p", "p", "build", "test"});
  EXPECT_EQ(command.intent, "run");
  EXPECT_EQ(command.steps, (Words{"build", "test"}));
}

TEST(Arguments, OfWhatTheDemoTypes) {
  const auto project = parsed<ProjectAddCommand>(
      {"project", "add", "mathkit", "--repo", "/r.git", "--target", "refs/heads/main"});
  EXPECT_EQ(project.name, "mathkit");
  EXPECT_EQ(project.authority, "local");
  const auto token = parsed<TokenCreateCommand>(
      {"token", "create", "rex", "--project", "mathkit", "--role", "reviewer", "--role", "owner"});
  EXPECT_EQ(token.roles, (Words{"reviewer", "owner"}));
  const auto decision = parsed<DecideCommand>({"approve", "t_1", "--commit", "abc", "--yes"});
  EXPECT_TRUE(decision.approves && decision.yes);
  EXPECT_EQ(parsed<ServeCommand>({"serve", "--config", "/c.yaml"}).config, "/c.yaml");
}

TEST(Arguments, OfASandboxAreNotOurs) {
  EXPECT_EQ(parsed<SandboxRunCommand>(
                {"sandbox", "run", "--json", "--memory", "128M", "--", "ls", "--help", "-l"})
                .arguments,
            (Words{"--json", "--memory", "128M", "--", "ls", "--help", "-l"}));
}

TEST(Arguments, OfGpus) {
  parsed<GpuListCommand>({"gpu", "list"});
  const auto cordon = parsed<GpuCordonCommand>({"gpu", "cordon", "GPU-1", "--reason", "new fan"});
  EXPECT_TRUE(cordon.is_cordoned);
  EXPECT_EQ(cordon.uuid, "GPU-1");
  EXPECT_EQ(cordon.reason, "new fan");
  EXPECT_FALSE(parsed<GpuCordonCommand>({"gpu", "uncordon", "GPU-1"}).is_cordoned);
  EXPECT_TRUE(holds(refusal({"gpu", "cordon"}), "uuid"));
}

TEST(Arguments, OfCheck) {
  const auto command =
      parsed<CheckCommand>({"check", "--base", "main", "--format", "md", "--removes", "A.B"});
  EXPECT_EQ(command.base, "main");
  EXPECT_EQ(command.head, "HEAD");
  EXPECT_EQ(command.form, ReportForm::markdown);
  EXPECT_EQ(parsed<CheckCommand>({"check", "--base", "main", "--json"}).form, ReportForm::json);
}

TEST(Arguments, ThatAreWrongSayWhatWasMeant) {
  EXPECT_TRUE(holds(refusal({"submti"}), "did you mean submit?"));
  EXPECT_TRUE(holds(refusal({"submit", "--projcet", "p"}), "did you mean --project?"));
  EXPECT_TRUE(holds(refusal({"policy", "chek"}), "did you mean check?"));
  EXPECT_TRUE(holds(refusal({"show", "t_1", "t_2"}), "unexpected argument 't_2'"));
}

TEST(Arguments, ThatAreMissingAreNamed) {
  EXPECT_TRUE(holds(refusal({"submit", "--patch", "f"}), "--project"));
  EXPECT_TRUE(holds(refusal({"show"}), "task"));
  EXPECT_TRUE(holds(refusal({"check"}), "--base"));
  EXPECT_TRUE(holds(refusal({"refuse", "t_1"}), "--reason"));
  EXPECT_FALSE(refusal({}).empty());
  EXPECT_FALSE(refusal({"policy"}).empty());
}

TEST(Arguments, ThatExcludeEachOtherAreRefused) {
  EXPECT_TRUE(holds(refusal({"submit", "-p", "p", "--patch", "f", "--commit", "c"}), "--patch"));
  EXPECT_FALSE(refusal({"submit", "-p", "p", "--patch", "f", "--timeout", "9s"}).empty());
  EXPECT_FALSE(refusal({"token", "create", "x", "--role", "agent"}).empty());
  EXPECT_FALSE(refusal({"token", "create", "x", "--project", "p"}).empty());
}

TEST(Arguments, WithWrongValuesAreRefused) {
  EXPECT_FALSE(refusal({"wait", "t_1", "--timeout", "9"}).empty());
  EXPECT_FALSE(refusal({"submit", "-p", "p", "--patch", "f", "--intent", "run"}).empty());
  EXPECT_FALSE(refusal({"check", "--base", "m", "--format", "xml"}).empty());
  EXPECT_FALSE(refusal({"token", "create", "x", "-p", "p", "--role", "king"}).empty());
  EXPECT_FALSE(refusal({"list", "--limit", "0"}).empty());
}

TEST(Arguments, AskForHelpAndVersion) {
  EXPECT_TRUE(std::holds_alternative<Help>(parse_command_line({"--help"})));
  const Parsed help = parse_command_line({"submit", "--help"});
  ASSERT_TRUE(std::holds_alternative<Help>(help));
  EXPECT_TRUE(holds(std::get<Help>(help).text, "--claim-text"));
  EXPECT_TRUE(holds(std::get<Help>(parse_command_line({"--version"})).text, "proofhouse "));
  // Hidden: nobody starts it by hand.
  EXPECT_FALSE(holds(std::get<Help>(parse_command_line({"--help"})).text, "git-helper"));
}

}  // namespace
}  // namespace runner::cli
