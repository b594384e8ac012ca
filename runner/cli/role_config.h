// What serve and executor both read of the configuration.
#pragma once

#include <string>

#include "runner/cli/privileges.h"
#include "runner/config.h"

namespace runner::cli {

// Where the configuration is looked for when none is named.
inline constexpr const char* kConfigFile = "/etc/proofhouse/config.yaml";

// The named file; without a name kConfigFile if it is there, else all defaults.
os::Result<Config> role_config(const std::string& path);

// Whom serve becomes: `user:`, else the account `proofhouse`. invalid: there is neither, with what
// to write.
os::Result<Account> serve_account(const Config& config);

}  // namespace runner::cli
