// gpu list, gpu cordon, gpu uncordon.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runner/cli/answers.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/escape.h"

namespace runner::cli {

int run_command(const GpuListCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get("/v1/gpus");
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::vector<GpuAnswer>> gpus = read_gpus(answer->body);
  if (!gpus) return tell(gpus.error());
  std::vector<std::vector<std::string>> rows{{"GPU", "name", "memory", "state", "leases", "why"}};
  for (const GpuAnswer& gpu : *gpus) {
    std::string why = gpu.reason;
    if (why.empty() && !gpu.owner.empty()) why = "has " + gpu.owner;
    rows.push_back({gpu.uuid, gpu.name, fmt::format("{} MiB", gpu.memory >> 20),
                    gpu.is_cordoned ? gpu.state + ", cordoned" : gpu.state,
                    std::to_string(gpu.uses), why});
  }
  if (gpus->empty()) say("this machine leases no GPU");
  print(table(rows));
  return kExitOk;
}

int run_command(const GpuCordonCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->post("/v1/gpus/" + os::percent_encode(command.uuid) +
                                                    (command.is_cordoned ? "/cordon" : "/uncordon"),
                                                reason_body(command.reason));
  if (!answer) return answer.error();
  if (session->is_json()) print_json(answer->body);
  say(command.uuid + (command.is_cordoned ? " is leased no more" : " is leased again"));
  return kExitOk;
}

}  // namespace runner::cli
