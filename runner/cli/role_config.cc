#include "runner/cli/role_config.h"

#include <unistd.h>

#include <string>

namespace runner::cli {

os::Result<Config> role_config(const std::string& path) {
  if (!path.empty()) return load_config(path);
  if (::access(kConfigFile, F_OK) == 0) return load_config(kConfigFile);
  return Config{};
}

os::Result<Account> serve_account(const Config& config) {
  if (!config.user.empty()) return find_account(config.user);
  os::Result<Account> account = find_account("proofhouse");
  if (account) return account;
  return os::fail(os::Code::invalid,
                  "serve does not run as root: set `user:` in the configuration to an account, or "
                  "to a number that nobody has (938000)");
}

}  // namespace runner::cli
