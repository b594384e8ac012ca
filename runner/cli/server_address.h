// ServerAddress: which server the command line speaks to, and with whose token.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/result.h"

namespace runner::cli {

// What the command line said; empty: nothing.
struct ServerFlags {
  std::string url;
  std::string token_file;
  bool json = false;  // data as one JSON object
};

struct ServerAddress {
  std::string url;                   // "http://host:port", no '/' at the end
  std::string token;                 // empty: none was found
  std::string url_from, token_from;  // for messages: "--server", "PROOFHOUSE_URL", a path
};

// Where to look, besides the flags. Never a file of a project: a hostile checkout could steal the
// token or answer in the server's place.
struct AddressSources {
  std::function<std::optional<std::string>(const char*)> variable;  // of the environment
  std::string config_file;                                          // of the user; empty: none
  std::vector<std::string> runtime_files;  // written by a running server; first found counts
};

// The real ones: getenv, $XDG_CONFIG_HOME (else ~/.config) /proofhouse/config.yaml,
// $XDG_RUNTIME_DIR/proofhouse/default.json, /run/proofhouse/default.json.
AddressSources address_sources();

// Each of url and token from the first that has it: the flags; PROOFHOUSE_URL,
// PROOFHOUSE_TOKEN_FILE, PROOFHOUSE_TOKEN; the user's configuration (`url:`, `token_file:`); a
// running server's file. not_found: no url. denied: a token file that others can read (its mode
// must be 0600 or less) or that is no plain file. invalid: a file or a URL that cannot be read.
os::Result<ServerAddress> find_server(const ServerFlags& flags, const AddressSources& sources);

// The token in a file of at most 4 KiB, without the white space around it.
os::Result<std::string> read_token_file(const std::string& path);

// The runtime file that `serve` writes: {"schema":1,"url":…,"token_file":…}.
std::string runtime_file_text(const std::string& url, const std::string& token_file);

}  // namespace runner::cli
