#include "sandbox/gpu/cdi.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"

namespace sandbox::gpu {
namespace {

constexpr std::size_t kSpecLimit = 4U << 20U;
constexpr std::size_t kMostFiles = 64;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// yaml-cpp throws; whoever calls parse() catches.
std::string text_of(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) throw YAML::RepresentationException(node.Mark(), std::string(what));
  return node.Scalar();
}

void allow_keys(const YAML::Node& map, std::string_view what,
                std::initializer_list<std::string_view> names) {
  if (!map.IsMap())
    throw YAML::RepresentationException(map.Mark(), fmt::format("{} is no map", what));
  for (const auto& entry : map) {
    const std::string key = text_of(entry.first, "a key");
    if (std::ranges::find(names, key) == names.end())
      throw YAML::RepresentationException(entry.first.Mark(),
                                          fmt::format("unknown key '{}' in {}", key, what));
  }
}

std::vector<YAML::Node> items_of(const YAML::Node& node, std::string_view what) {
  std::vector<YAML::Node> items;
  if (!node.IsDefined() || node.IsNull()) return items;
  if (!node.IsSequence())
    throw YAML::RepresentationException(node.Mark(), fmt::format("{} is no list", what));
  for (const auto& item : node) items.push_back(item);
  return items;
}

void read_node(const YAML::Node& node, CdiEdits& edits) {
  allow_keys(
      node, "deviceNodes",
      {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"});
  const std::string path = text_of(node["path"], "path");
  std::string name = allowed_node(path);
  // Only a whole GPU's or an instance's own nodes: the rest would give more than the lease.
  if (name.empty())
    edits.left_out.push_back("device node " + path);
  else
    edits.nodes.push_back(std::move(name));
}

void read_mount(const YAML::Node& node, CdiEdits& edits) {
  allow_keys(node, "mounts", {"hostPath", "containerPath", "options", "type"});
  const std::string path = text_of(node["hostPath"], "hostPath");
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool is_plain = path.starts_with('/') && !path.contains("/../") && !path.contains("//");
  if (is_plain && is_driver_library(name))
    edits.libraries.push_back(path);
  else
    edits.left_out.push_back("mount of " + path);
}

CdiEdits read_edits(const YAML::Node& node) {
  CdiEdits edits;
  if (!node.IsDefined() || node.IsNull()) return edits;
  allow_keys(node, "containerEdits",
             {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices"});
  for (const YAML::Node& item : items_of(node["deviceNodes"], "deviceNodes"))
    read_node(item, edits);
  for (const YAML::Node& item : items_of(node["mounts"], "mounts")) read_mount(item, edits);
  for (const YAML::Node& item : items_of(node["hooks"], "hooks")) {
    allow_keys(item, "hooks", {"hookName", "path", "args", "env", "timeout"});
    edits.left_out.push_back("hook " + text_of(item["path"], "path"));
  }
  for (const YAML::Node& item : items_of(node["env"], "env"))
    edits.left_out.push_back("variable " + text_of(item, "env"));
  for (const char* const key : {"additionalGids", "intelRdt", "netDevices"})
    if (node[key].IsDefined()) edits.left_out.emplace_back(key);
  return edits;
}

CdiSpec read_spec(const YAML::Node& root) {
  allow_keys(root, "the specification",
             {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
  const std::string version = text_of(root["cdiVersion"], "cdiVersion");
  const bool is_known = version.starts_with("1.") ||
                        (version.starts_with("0.") && version >= "0.3" && version < "0.9");
  if (!is_known)
    throw YAML::RepresentationException(root.Mark(), "cdiVersion " + version + " is not known");
  CdiSpec spec;
  spec.kind = text_of(root["kind"], "kind");
  for (const YAML::Node& item : items_of(root["devices"], "devices")) {
    allow_keys(item, "devices", {"name", "annotations", "containerEdits"});
    spec.devices.push_back({text_of(item["name"], "name"), read_edits(item["containerEdits"])});
  }
  spec.common = read_edits(root["containerEdits"]);
  return spec;
}

os::Result<std::string> read_trusted(const std::string& path) {
  const os::Fd file = TRY(os::open_file(path, O_RDONLY));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return os::fail_errno("stat " + path);
  // Its words decide about devices and are believed.
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & 022) != 0)
    return os::fail(os::Code::denied, path + " must be a file that only root may write");
  return TRY_CONTEXT(os::read_all(file.get(), kSpecLimit), path);
}

os::Result<std::vector<std::string>> spec_files(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::vector<std::string>();
  if (!S_ISDIR(info.st_mode)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (const std::string& name : TRY(os::list_directory(path)))
    if (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"))
      files.push_back(fmt::format("{}/{}", path, name));
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  return files;
}

}  // namespace

std::string allowed_node(std::string_view path) {
  constexpr std::string_view kDevices = "/dev/";
  if (!path.starts_with(kDevices)) return {};
  path.remove_prefix(kDevices.size());
  if (path == "nvidiactl" || path == "nvidia-uvm") return std::string(path);
  for (const std::string_view prefix : {"nvidia-caps/nvidia-cap", "nvidia"})
    if (path.starts_with(prefix) && is_number(path.substr(prefix.size()))) return std::string(path);
  return {};
}

bool is_driver_library(std::string_view file_name) {
  if (file_name.contains('/') || !file_name.contains(".so")) return false;
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"libcuda.so", "libcudadebugger.so", "libnvidia-"},
      [&](std::string_view prefix) { return file_name.starts_with(prefix); });
}

os::Result<CdiSpec> parse_cdi(std::string_view text) {
  if (text.size() > kSpecLimit)
    return os::fail(os::Code::invalid, "a CDI specification of more than 4 MiB");
  try {
    return read_spec(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return os::fail(os::Code::invalid,
                    fmt::format("CDI specification, line {}: {}", error.mark.line + 1, error.msg));
  }
}

os::Result<std::vector<CdiSpec>> read_cdi(const std::vector<std::string>& paths) {
  std::vector<CdiSpec> specs;
  for (const std::string& path : paths) {
    for (const std::string& file : TRY(spec_files(path))) {
      CdiSpec spec = TRY_CONTEXT(parse_cdi(TRY(read_trusted(file))), file);
      // Other kinds of devices are none of our business.
      if (spec.kind == "nvidia.com/gpu" || spec.kind == "nvidia.com/mig")
        specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace sandbox::gpu
