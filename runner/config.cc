#include "runner/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/policy_yaml_fields.h"
#include "tasks/policy_yaml_tree.h"

namespace runner {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using tasks::AllowedNames;
using tasks::PolicyFields;
using tasks::Range;
using tasks::YamlEntry;
using tasks::YamlNode;

constexpr std::size_t kConfigLimit = 256U << 10U;
constexpr std::array<std::string_view, 4> kGitSchemes{"https", "ssh", "http", "git"};

// Reads one section: each field that is there goes to its reader.
class ConfigReader {
 public:
  explicit ConfigReader(PolicyFields& fields) : fields_(fields) {}

  void read(const YamlNode& root, Config& config) {
    if (root.kind == YamlNode::Kind::nothing) return;
    if (!fields_.open_map(
            root, "the configuration",
            {.names = {"listen", "url", "data", "user", "instance", "executor", "ids", "machine",
                       "caps", "retention", "disk", "sandbox", "git", "environments", "gpus"},
             .later = {"cgroup", "keys"}}))
      return;
    text(root, "listen", 300, config.listen);
    url(root, config.url);
    path(root, "data", config.data);
    text(root, "user", 64, config.user);
    instance(root, config.instance);
    path(root, "executor", config.executor_socket);
    ids(root, config);
    machine(root, config);
    gpus(root, config.gpus);
    caps(root, config.caps);
    retention(root, config.retention);
    disk(root, config);
    sandbox(root, config);
    git(root, config.git_schemes);
    environments(root, config.environments);
  }

 private:
  void url(const YamlNode& node, std::string& out) {
    const YamlNode* const value = node.find("url");
    if (value == nullptr) return;
    std::string read;
    fields_.read_text(*value, "url", 300, read);
    const std::size_t host = read.find("://") + 3;
    const bool is_url = (read.starts_with("http://") || read.starts_with("https://")) &&
                        read.size() > host && read.find_first_of("/@?# ", host) == read.npos;
    if (is_url)
      out = std::move(read);
    else
      fields_.add(value->place, "url is http://HOST[:PORT] or https://HOST[:PORT]");
  }

  void text(const YamlNode& node, std::string_view key, std::size_t most, std::string& out) {
    if (const YamlNode* value = node.find(key)) fields_.read_text(*value, key, most, out);
  }

  void path(const YamlNode& node, std::string_view key, std::string& out) {
    const YamlNode* const value = node.find(key);
    if (value == nullptr) return;
    std::string read;
    fields_.read_text(*value, key, 4000, read);
    if (!read.empty() && (read.front() != '/' || read.contains("/../") || read.contains("//")))
      fields_.add(value->place, std::string(key) + " is an absolute path");
    else if (!read.empty())
      out = std::move(read);
  }

  void instance(const YamlNode& node, std::string& out) {
    const YamlNode* const value = node.find("instance");
    if (value == nullptr) return;
    std::string read;
    fields_.read_text(*value, "instance", 100, read);
    if (read.size() != 8 || read.find_first_not_of("0123456789abcdef") != read.npos)
      fields_.add(value->place, "instance is 8 hexadecimal digits");
    else
      out = std::move(read);
  }

  const YamlNode* section(const YamlNode& root, std::string_view key, const AllowedNames& names) {
    const YamlNode* const value = root.find(key);
    return value != nullptr && fields_.open_map(*value, key, names) ? value : nullptr;
  }

  template <class Number>
  void integer(const YamlNode& node, std::string_view key, Range range, Number& out) {
    if (const YamlNode* value = node.find(key)) fields_.read_integer(*value, key, range, out);
  }

  void bytes(const YamlNode& node, std::string_view key, Range range, os::Bytes& out) {
    if (const YamlNode* value = node.find(key)) fields_.read_bytes(*value, key, range, out);
  }

  void duration(const YamlNode& node, std::string_view key, milliseconds least, milliseconds most,
                milliseconds& out) {
    if (const YamlNode* value = node.find(key))
      fields_.read_duration(*value, key, {least.count(), most.count()}, out);
  }

  void ids(const YamlNode& root, Config& config) {
    const YamlNode* const node = section(root, "ids", {.names = {"first", "slots"}, .later = {}});
    if (node == nullptr) return;
    std::int64_t first = config.first_id;
    integer(*node, "first", {65'536, 4'000'000'000}, first);
    config.first_id = static_cast<std::uint32_t>(first);
    integer(*node, "slots", {4, 1024}, config.id_slots);
  }

  void machine(const YamlNode& root, Config& config) {
    const YamlNode* const node =
        section(root, "machine", {.names = {"cpus", "memory"}, .later = {}});
    if (node == nullptr) return;
    integer(*node, "cpus", {0, 4096}, config.max_cpus);
    bytes(*node, "memory", {256LL << 20U, 1LL << 50U}, config.max_memory);
  }

  void texts(const YamlNode& node, std::string_view key, std::vector<std::string>& out) {
    const YamlNode* const list = node.find(key);
    if (list == nullptr || !fields_.open_list(*list, key, 100)) return;
    out.clear();
    for (const YamlEntry& entry : list->entries) {
      std::string read;
      fields_.read_text(entry.value, key, 4000, read);
      if (!read.empty()) out.push_back(std::move(read));
    }
  }

  void gpus(const YamlNode& root, sandbox::gpu::PoolOptions& out) {
    const YamlNode* const node = section(
        root, "gpus",
        {.names = {"allow", "nvml", "cdi", "devices", "book", "scrub", "burn_in"}, .later = {}});
    if (node == nullptr) return;
    texts(*node, "allow", out.inventory.allow);
    texts(*node, "cdi", out.inventory.cdi);
    path(*node, "nvml", out.inventory.nvml);
    path(*node, "devices", out.inventory.devices);
    path(*node, "book", out.book);
    path(*node, "scrub", out.scrub);
    path(*node, "burn_in", out.burn_in);
  }

  void caps(const YamlNode& root, Caps& out) {
    const YamlNode* const node =
        section(root, "caps", {.names = {"queue", "ingests", "patch", "pack"}, .later = {}});
    if (node == nullptr) return;
    integer(*node, "queue", {1, 100'000}, out.queue);
    integer(*node, "ingests", {1, 64}, out.ingests);
    bytes(*node, "patch", {1LL << 10U, 8LL << 20U}, out.patch);
    bytes(*node, "pack", {1LL << 10U, 1LL << 30U}, out.pack);
  }

  void retention(const YamlNode& root, Retention& out) {
    const YamlNode* const node = section(
        root, "retention",
        {.names = {"attempts", "evidence", "events", "approvals", "packs", "bases", "trees"},
         .later = {}});
    if (node == nullptr) return;
    duration(*node, "attempts", minutes(1), hours(8760), out.attempts);
    duration(*node, "evidence", hours(1), hours(87'600), out.evidence);
    duration(*node, "events", hours(1), hours(87'600), out.events);
    duration(*node, "approvals", minutes(1), hours(8760), out.approvals);
    duration(*node, "packs", minutes(1), hours(8760), out.packs);
    duration(*node, "bases", minutes(1), hours(8760), out.bases);
    duration(*node, "trees", minutes(1), hours(8760), out.trees);
  }

  void disk(const YamlNode& root, Config& config) {
    const YamlNode* const node =
        section(root, "disk", {.names = {"high_water"}, .later = {"budget"}});
    const YamlNode* const value = node == nullptr ? nullptr : node->find("high_water");
    if (value == nullptr) return;
    std::string read;
    fields_.read_text(*value, "high_water", 20, read);
    const auto share = os::parse_percent_millionths(read);
    if (!share || *share < 100'000 || *share > 1'000'000)
      fields_.add(value->place, "high_water is a share from 10% to 100%");
    else
      config.disk_high_water_millionths = *share;
  }

  void sandbox(const YamlNode& root, Config& config) {
    const YamlNode* const node =
        section(root, "sandbox", {.names = {"allow_gaps", "read_only_paths"}, .later = {}});
    if (node == nullptr) return;
    if (const YamlNode* gaps = node->find("allow_gaps");
        gaps != nullptr && fields_.open_list(*gaps, "allow_gaps", 50)) {
      for (const YamlEntry& entry : gaps->entries) {
        if (fields_.check_name(entry.value.place, "a gap", entry.value.text))
          config.allow_gaps.push_back(entry.value.text);
      }
    }
    if (const YamlNode* paths = node->find("read_only_paths");
        paths != nullptr && fields_.open_list(*paths, "read_only_paths", 100)) {
      for (const YamlEntry& entry : paths->entries) {
        if (!entry.value.text.starts_with('/') || entry.value.text.contains("/../"))
          fields_.add(entry.value.place, "a read-only path is absolute");
        else
          config.read_only_paths.push_back(entry.value.text);
      }
    }
  }

  void git(const YamlNode& root, std::vector<std::string>& out) {
    const YamlNode* const node = section(root, "git", {.names = {"schemes"}, .later = {}});
    const YamlNode* const list = node == nullptr ? nullptr : node->find("schemes");
    if (list == nullptr || !fields_.open_list(*list, "schemes", 4)) return;
    out.clear();
    for (const YamlEntry& entry : list->entries) {
      if (std::ranges::find(kGitSchemes, entry.value.text) == kGitSchemes.end())
        fields_.add(entry.value.place, "a scheme is https, ssh, http or git");
      else
        out.push_back(entry.value.text);
    }
  }

  void environments(const YamlNode& root, std::vector<std::string>& out) {
    const YamlNode* const node = root.find("environments");
    if (node == nullptr || !fields_.open_list(*node, "environments", 20)) return;
    out.clear();
    for (const YamlEntry& entry : node->entries) {
      if (entry.value.text != "host")
        fields_.add(entry.value.place,
                    "environment '" + entry.value.text + "' is not supported yet; allowed: host");
      else
        out.push_back(entry.value.text);
    }
  }

  PolicyFields& fields_;
};

// True for nothing but blank lines and comments.
bool is_blank(std::string_view yaml) {
  while (!yaml.empty()) {
    const std::string_view line = yaml.substr(0, yaml.find('\n'));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos && line[first] != '#') return false;
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
  }
  return true;
}

}  // namespace

os::Result<Config> read_config(std::string_view yaml, std::string_view file) {
  if (is_blank(yaml)) return Config{};
  tasks::PolicyProblems problems;
  Config config;
  const auto root = tasks::read_yaml_tree(yaml, problems);
  if (root) {
    PolicyFields fields(problems);
    ConfigReader(fields).read(*root, config);
  }
  if (!problems.empty())
    return os::fail(os::Code::invalid, tasks::format_problems(file, problems.take()));
  return config;
}

os::Result<Config> load_config(const std::string& path) {
  return read_config(TRY(os::read_file(path, kConfigLimit)), path);
}

std::string instance_of(const Config& config) {
  if (!config.instance.empty()) return config.instance;
  return os::sha256(config.data).hex().substr(0, 8);
}

}  // namespace runner
