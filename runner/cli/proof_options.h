// Options of the commands about tokens, statements and the audit log.
#pragma once

#include <string>

#include "runner/cli/server_address.h"

namespace runner::cli {

struct TokenListCommand {
  ServerFlags server;
  std::string principal;  // empty: all
};

// Statements verified on a clone.
struct AttestVerifyCommand {
  std::string commit = "HEAD";  // revision
  std::string repository;       // empty: the one around the working directory
  std::string key_file;         // the server's public key, PEM
  std::string bundle_file;      // statements; empty: the commit's git note
  std::string policy_file;      // where the server held the policy
  bool json = false;
};

struct AttestShowCommand {
  ServerFlags server;
  std::string task;
};

struct AttestKeyCommand {
  ServerFlags server;
};

struct AuditVerifyCommand {
  ServerFlags server;
  std::string file;       // exported log; empty: the server's
  std::string key_file;   // empty: the key that the server names
  std::string head_file;  // a head that was kept earlier; empty: none
};

struct AuditExportCommand {
  ServerFlags server;
};

struct AuditHeadCommand {
  ServerFlags server;
};

}  // namespace runner::cli
