// The JSON of grants of GPUs.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace sandbox {

using nlohmann::json;

std::string encode(const GpuGrant& grant) {
  json nodes = json::array();
  for (const GpuNode& node : grant.nodes)
    nodes.push_back(
        {{"name", node.name}, {"major", node.major_number}, {"minor", node.minor_number}});
  return dump_json(
      {{"schema", 1}, {"run", grant.run}, {"uuids", grant.uuids}, {"nodes", std::move(nodes)}});
}

os::Result<GpuGrant> decode_gpu_grant(std::string_view text) {
  const json object = TRY(parse_json(text));
  GpuGrant grant;
  try {
    if (object.at("schema").get<int>() != 1 || object.size() != 4)
      return os::fail(os::Code::invalid, "a grant of another version");
    object.at("run").get_to(grant.run);
    object.at("uuids").get_to(grant.uuids);
    for (const json& node : object.at("nodes")) {
      if (node.size() != 3) return os::fail(os::Code::invalid, "a grant with unknown keys");
      grant.nodes.push_back({node.at("name").get<std::string>(),
                             node.at("major").get<std::uint32_t>(),
                             node.at("minor").get<std::uint32_t>()});
    }
  } catch (const json::exception& error) {
    return os::fail(os::Code::invalid, error.what());
  }
  return grant;
}

}  // namespace sandbox
