// Session: one command's talk with a server, with failures told as they come.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "runner/cli/client.h"
#include "runner/cli/server_address.h"

namespace runner::cli {

// A value, or the exit code after the failure was told on standard error.
template <class T>
using Told = std::expected<T, int>;

// Says what went wrong on standard error; the exit code.
int tell(const os::Error& error);

// Says what a server's refusal is, with its next step; with `json` its problem document is the data
// on standard output. The exit code.
int tell_refusal(const HttpAnswer& answer, bool json);

class Session {
 public:
  // Finds the server; told: which setting is wrong.
  static Told<Session> open(const ServerFlags& flags);

  // One call whose refusals (4xx, 5xx) are told.
  Told<HttpAnswer> call(const HttpCall& call);
  Told<HttpAnswer> get(const std::string& path);
  Told<HttpAnswer> post(const std::string& path, const std::string& body);

  Client& client() { return client_; }
  const ServerAddress& address() const { return address_; }
  bool is_json() const { return json_; }

 private:
  Session(const ServerAddress& address, bool json)
      : address_(address), client_(address), json_(json) {}
  ServerAddress address_;
  Client client_;
  bool json_ = false;
};

// "/v1/tasks/<id>" + `rest`.
std::string task_path(const std::string& id, std::string_view rest = {});

// What Ctrl-C says before the command ends with 130: `notice` on standard error, then the end. The
// task is left to run. Calling again replaces the notice.
void say_on_interrupt(std::string_view notice);

}  // namespace runner::cli
