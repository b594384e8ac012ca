#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "runner/cli/sandbox_run.h"
#include "sandbox/os/units.h"

namespace runner::cli {
namespace {

using sandbox::Limits;

constexpr std::string_view kHelp =
    R"(usage: proofhouse sandbox run [OPTION]... [--] COMMAND [ARGUMENT]...

Runs a command in a sandbox of its own (needs root) and says how it ended.

  --memory SIZE      RAM, files in memory included, no swap   (2GiB)
  --cpus N           CPUs                                     (1)
  --pids N           processes and threads                    (512)
  --disk SIZE        bytes that it may write, in memory       (1GiB, at most the memory)
  --inodes N         files that it may make                   (200000)
  --files N          open files of a process                  (1024)
  --wall TIME        from start to forced end                 (10m)
  --idle TIME        neither output nor CPU time; 0s: none    (5m)
  --cpu-time TIME    user and system time; 0s: none           (0s)
  --keep SIZE        output kept: first and last half         (1MiB)
  --output SIZE      output at which it is killed             (16MiB)
  --env NAME=VALUE   environment variable, repeatable
  --workspace DIR    shown at /workspace; what the command changes there is dropped
  --out DIR          receives /workspace afterwards; must not exist
  --gpu N            GPUs, leased for the command             (0)
  --config FILE      the server's configuration: which GPUs   (/etc/proofhouse/config.yaml)
  --allow-gap NAME   run although the host lacks this protection, repeatable
  --json             one JSON object on standard output, exit status 0

SIZE: bytes, or K, M, G, KiB, MiB, GiB (powers of 1024). TIME: ms, s, m, h.
Exit status: the command's; 128+N ended by signal N, 124 timed out, 137 killed by a limit,
130 cancelled, 125 could not be set up, 2 usage, 3 not root.
)";

os::Result<std::int64_t> parse_count(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    return os::fail(os::Code::invalid,
                    fmt::format("'{}' is not a number from {} to {}", text, least, most));
  return number;
}

os::Result<void> put_count(std::int64_t& target, std::string_view text, std::int64_t most) {
  target = TRY(parse_count(text, 1, most));
  return {};
}

os::Result<void> put_small(int& target, std::string_view text, int most) {
  target = static_cast<int>(TRY(parse_count(text, 1, most)));
  return {};
}

os::Result<void> put_size(os::Bytes& target, std::string_view text) {
  target = TRY(os::parse_bytes(text));
  if (target.count == 0) return os::fail(os::Code::invalid, "a size of 0 allows nothing");
  return {};
}

os::Result<void> put_time(std::chrono::milliseconds& target, std::string_view text) {
  target = TRY(os::parse_duration(text));
  return {};
}

os::Result<void> put_variable(std::vector<std::string>& target, std::string_view text) {
  if (text.find('=') == std::string_view::npos || text.starts_with('='))
    return os::fail(os::Code::invalid, fmt::format("'{}' is not NAME=VALUE", text));
  target.emplace_back(text);
  return {};
}

// Sets what an option names; nothing where no option has that name.
std::optional<os::Result<void>> set(SandboxRunOptions& options, std::string_view name,
                                    const std::string& value) {
  Limits& limits = options.limits;
  if (name == "--memory") return put_size(limits.memory, value);
  if (name == "--disk") return put_size(limits.disk, value);
  if (name == "--keep") return put_size(limits.keep, value);
  if (name == "--output") return put_size(limits.output, value);
  if (name == "--pids") return put_count(limits.pids, value, 32'768);
  if (name == "--inodes") return put_count(limits.inodes, value, 100'000'000);
  if (name == "--files") return put_count(limits.files, value, 1'000'000);
  if (name == "--wall") return put_time(limits.wall, value);
  if (name == "--idle") return put_time(limits.idle, value);
  if (name == "--cpu-time") return put_time(limits.cpu_time, value);
  if (name == "--env") return put_variable(options.environment, value);
  const auto put_text = [](std::string& target, const std::string& text) -> os::Result<void> {
    if (text.empty()) return os::fail(os::Code::invalid, "an empty value");
    target = text;
    return {};
  };
  if (name == "--workspace") return put_text(options.workspace, value);
  if (name == "--out") return put_text(options.out, value);
  if (name == "--allow-gap") return put_text(options.allow_gaps.emplace_back(), value);
  if (name == "--config") return put_text(options.config, value);
  if (name == "--gpu") return put_small(options.gpus, value, 64);
  if (name == "--cpus") return put_small(limits.cpus, value, 4096);
  return std::nullopt;
}

os::Result<void> check_limits(SandboxRunOptions& options, bool disk_given) {
  Limits& limits = options.limits;
  if (disk_given && limits.disk > limits.memory)
    return os::fail(os::Code::invalid,
                    "--disk is larger than --memory, but what is written is memory");
  limits.disk = std::min(limits.disk, limits.memory);
  limits.shm = std::min(limits.shm, limits.memory);
  if (limits.wall.count() == 0) return os::fail(os::Code::invalid, "--wall needs a time over 0");
  if (options.command.empty() && !options.help)
    return os::fail(os::Code::invalid, "no command is given");
  return {};
}

}  // namespace

std::string_view sandbox_run_help() { return kHelp; }

os::Result<SandboxRunOptions> parse_sandbox_run(const std::vector<std::string>& arguments) {
  SandboxRunOptions options;
  bool disk_given = false;
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with('-'); ++at) {
    const std::string& word = arguments[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word == "--json" || word == "--help" || word == "-h") {
      (word == "--json" ? options.json : options.help) = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool is_last = at + 1 == arguments.size();
    std::string value = equals != std::string::npos ? word.substr(equals + 1)
                        : is_last                   ? std::string()
                                                    : arguments[at + 1];
    const std::optional<os::Result<void>> known = set(options, name, value);
    if (!known) return os::fail(os::Code::invalid, fmt::format("unknown option {}", name));
    if (equals == std::string::npos && is_last)
      return os::fail(os::Code::invalid, fmt::format("{} needs a value", name));
    if (!*known) return std::unexpected(os::with_context(known->error(), name));
    if (equals == std::string::npos) ++at;
    disk_given = disk_given || name == "--disk";
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  TRY(check_limits(options, disk_given));
  return options;
}

}  // namespace runner::cli
