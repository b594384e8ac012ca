// policy backtest: judges a project's last tasks by another policy, on the server.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runner/cli/answers.h"
#include "runner/cli/client.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "runner/limits.h"
#include "sandbox/os/escape.h"
#include "sandbox/os/files.h"
#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using nlohmann::json;

std::string member_text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

struct Rows {
  std::vector<std::vector<std::string>> flips{{"task", "was", "now", "gate", "words"}};
  std::vector<std::vector<std::string>> unknown{{"task", "was", "cannot be told"}};
  std::size_t same = 0;
};

os::Result<Rows> read_rows(std::string_view text) {
  const json object = TRY(sandbox::parse_json(text));
  Rows rows;
  if (!object.is_object() || !object.contains("tasks") || !object["tasks"].is_array())
    return os::fail(os::Code::corrupt, "the server's answer is not understood");
  for (const json& each : object["tasks"]) {
    const std::string task = member_text(each, "task");
    const std::string was = member_text(each, "was");
    const std::string now = member_text(each, "now");
    const std::string words = escape_line(member_text(each, "words"));
    if (now.empty())
      rows.unknown.push_back({escape_line(task), escape_line(was), words});
    else if (now != was)
      rows.flips.push_back({escape_line(task), escape_line(was), escape_line(now),
                            escape_line(member_text(each, "gate")), words});
    else
      ++rows.same;
  }
  return rows;
}

std::string text_of(const Rows& rows) {
  std::string text;
  if (rows.flips.size() > 1) text += table(rows.flips) + "\n";
  if (rows.unknown.size() > 1) text += table(rows.unknown) + "\n";
  return text + fmt::format("{} tasks would be decided otherwise, {} alike; {} cannot be told\n",
                            rows.flips.size() - 1, rows.same, rows.unknown.size() - 1);
}

}  // namespace

int run_command(const PolicyBacktestCommand& command) {
  const os::Result<std::string> policy = os::read_file(command.file, kPolicyFileLimit);
  if (!policy) {
    say(command.file + ": " + policy.error().message);
    return kExitUsage;
  }
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const std::string body = sandbox::dump_json(json{{"policy", *policy}, {"last", command.last}});
  const Told<HttpAnswer> answer =
      session->post("/v1/projects/" + os::percent_encode(command.project) + "/backtest", body);
  if (!answer) return answer.error();
  const os::Result<Rows> rows = read_rows(answer->body);
  if (!rows) return tell(rows.error());
  if (session->is_json())
    print_json(answer->body);
  else
    print(text_of(*rows));
  return rows->flips.size() > 1 ? kExitRejected : kExitOk;
}

}  // namespace runner::cli
