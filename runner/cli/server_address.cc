#include "runner/cli/server_address.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <expected>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/wire.h"
#include "tasks/policy_yaml_fields.h"
#include "tasks/policy_yaml_tree.h"

namespace runner::cli {
namespace {

constexpr std::size_t kTokenLimit = 4096;
constexpr std::size_t kFileLimit = 64U << 10U;

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// An absolute directory of the environment; others count as unset (XDG Base Directory 0.8).
std::string directory_variable(const char* name) {
  const std::optional<std::string> value = environment_variable(name);
  return value && value->starts_with('/') ? *value : std::string();
}

// What one source says; empty: nothing.
struct Finding {
  std::string url, token_file;
};

os::Result<Finding> read_user_config(const std::string& path) {
  Finding found;
  const os::Result<std::string> text = os::read_file(path, kFileLimit);
  if (!text && text.error().code == os::Code::not_found) return found;
  if (!text) return std::unexpected(text.error());
  tasks::PolicyProblems problems;
  if (const auto root = tasks::read_yaml_tree(*text, problems);
      root && root->kind != tasks::YamlNode::Kind::nothing) {
    tasks::PolicyFields fields(problems);
    if (fields.open_map(*root, "the configuration",
                        {.names = {"url", "token_file"}, .later = {}})) {
      if (const auto* url = root->find("url")) fields.read_text(*url, "url", 2000, found.url);
      if (const auto* file = root->find("token_file"))
        fields.read_text(*file, "token_file", 4000, found.token_file);
    }
  }
  if (!problems.empty())
    return os::fail(os::Code::invalid, tasks::format_problems(path, problems.take()));
  return found;
}

os::Result<Finding> read_runtime_file(const std::string& path) {
  Finding found;
  const os::Result<std::string> text = os::read_file(path, kFileLimit);
  // Unreadable is as good as absent: it is another user's server.
  if (!text || text->empty()) return found;
  const os::Result<nlohmann::json> document = sandbox::parse_json(*text);
  if (!document || !document->is_object())
    return os::fail(os::Code::invalid, path + " is no JSON object");
  const auto text_of = [&](const char* key) {
    const auto at = document->find(key);
    return at != document->end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  found.url = text_of("url");
  found.token_file = text_of("token_file");
  return found;
}

os::Result<std::string> checked_url(std::string url, const std::string& from) {
  while (url.ends_with('/')) url.pop_back();
  if (url.starts_with("https://"))
    return os::fail(os::Code::invalid,
                    from +
                        ": https is not supported yet; use http on the server's own machine, "
                        "or a tunnel to it");
  const std::string_view rest = std::string_view(url).substr(url.starts_with("http://") ? 7 : 0);
  if (!url.starts_with("http://") || rest.empty() || rest.find_first_of("/?#@ \t\r\n") != rest.npos)
    return os::fail(os::Code::invalid, from + ": '" + url + "' is not http://HOST[:PORT]");
  return url;
}

// Takes url and token from sources in their order, each from the first that has it.
class Search {
 public:
  os::Result<void> offer(const Finding& found, const std::string& url_from,
                         const std::string& token_from) {
    if (address_.url.empty() && !found.url.empty()) {
      address_.url = TRY(checked_url(found.url, url_from));
      address_.url_from = url_from;
    }
    if (address_.token.empty() && !found.token_file.empty()) {
      address_.token = TRY_CONTEXT(read_token_file(found.token_file), token_from);
      address_.token_from = token_from;
    }
    return {};
  }
  void offer_token(const std::string& token, const std::string& from) {
    if (!address_.token.empty() || token.empty()) return;
    address_.token = token;
    address_.token_from = from;
  }
  // A token belongs to the server it was made for: one that only a later source names must not go
  // to a server that an earlier one named.
  bool has_url() const { return !address_.url.empty(); }
  ServerAddress& address() { return address_; }

 private:
  ServerAddress address_;
};

}  // namespace

AddressSources address_sources() {
  AddressSources sources;
  sources.variable = environment_variable;
  std::string config = directory_variable("XDG_CONFIG_HOME");
  if (const std::string home = directory_variable("HOME"); config.empty() && !home.empty())
    config = home + "/.config";
  if (!config.empty()) sources.config_file = config + "/proofhouse/config.yaml";
  if (const std::string runtime = directory_variable("XDG_RUNTIME_DIR"); !runtime.empty())
    sources.runtime_files.push_back(runtime + "/proofhouse/default.json");
  sources.runtime_files.emplace_back("/run/proofhouse/default.json");
  return sources;
}

os::Result<ServerAddress> find_server(const ServerFlags& flags, const AddressSources& sources) {
  Search search;
  TRY(search.offer({flags.url, flags.token_file}, "--server", "--token-file"));
  const auto variable = [&](const char* name) {
    return sources.variable(name).value_or(std::string());
  };
  TRY(search.offer({variable("PROOFHOUSE_URL"), variable("PROOFHOUSE_TOKEN_FILE")},
                   "PROOFHOUSE_URL", "PROOFHOUSE_TOKEN_FILE"));
  search.offer_token(variable("PROOFHOUSE_TOKEN"), "PROOFHOUSE_TOKEN");
  const auto offer_file = [&](Finding found, const std::string& path) -> os::Result<void> {
    if (search.has_url() && !found.url.empty() &&
        TRY(checked_url(found.url, path)) != search.address().url)
      found.token_file.clear();
    return search.offer(found, path, path);
  };
  if (!sources.config_file.empty())
    TRY(offer_file(TRY(read_user_config(sources.config_file)), sources.config_file));
  for (const std::string& path : sources.runtime_files) {
    const Finding found = TRY(read_runtime_file(path));
    if (found.url.empty()) continue;
    // Only root and the server's user can read its administrator's token.
    Finding usable = found;
    if (::access(usable.token_file.c_str(), R_OK) != 0) usable.token_file.clear();
    TRY(offer_file(usable, path));
    break;
  }
  if (!search.has_url())
    return os::fail(
        os::Code::not_found,
        "no server is known; start one with `proofhouse serve`, or name it with --server "
        "or PROOFHOUSE_URL");
  return search.address();
}

os::Result<std::string> read_token_file(const std::string& path) {
  const os::Fd file = TRY(os::open_file(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return os::fail_errno("stat " + path);
  if (!S_ISREG(info.st_mode)) return os::fail(os::Code::denied, path + " is no plain file");
  if ((info.st_mode & 077U) != 0)
    return os::fail(os::Code::denied,
                    path + " can be read by others: chmod 600 it, and replace its token");
  std::string token = TRY_CONTEXT(os::read_all(file.get(), kTokenLimit), path);
  constexpr std::string_view kSpace = " \t\r\n";
  token.erase(token.find_last_not_of(kSpace) + 1);
  token.erase(0, token.find_first_not_of(kSpace));
  if (token.empty()) return os::fail(os::Code::invalid, path + " holds no token");
  if (token.find_first_of(kSpace) != token.npos)
    return os::fail(os::Code::invalid, path + " holds more than a token");
  return token;
}

std::string runtime_file_text(const std::string& url, const std::string& token_file) {
  return sandbox::dump_json({{"schema", 1}, {"url", url}, {"token_file", token_file}}) + "\n";
}

}  // namespace runner::cli
