// Wire: values of the sandbox as JSON, for the jail's socket, sealed bounds and stored evidence.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/request.h"

namespace sandbox {

// Interrupts the run that is under way; its outcome becomes `cancelled`.
struct CancelRequest {
  bool operator==(const CancelRequest&) const = default;
};

using Request =
    std::variant<WorkspaceRequest, RunRequest, CancelRequest, PublishRequest, KeepLayerRequest>;

// The answer to anything but a run, or to a run that could not even be tried: an error or nothing.
struct Reply {
  std::optional<os::Error> error;
  std::optional<RunResult> result;
};

// Encoding cannot fail; invalid UTF-8 becomes U+FFFD. Decoding refuses unknown and missing keys,
// wrong types, nesting over 16 and duplicate keys: invalid, naming the key.
std::string encode(const Request& request);
os::Result<Request> decode_request(std::string_view json);
std::string encode(const Reply& reply);
os::Result<Reply> decode_reply(std::string_view json);
std::string encode(const Bounds& bounds);
os::Result<Bounds> decode_bounds(std::string_view json);
// wire_gpu.cc
std::string encode(const GpuGrant& grant);
os::Result<GpuGrant> decode_gpu_grant(std::string_view json);

// The forms that evidence and `sandbox run --json` use:
// outcome {kind, code|signal|limit|step, errno?}; limits_hit [{limit, figure, bound}]; usage {…}.
nlohmann::json to_json(const Outcome& outcome);
nlohmann::json to_json(const std::vector<LimitHit>& hits);
nlohmann::json to_json(const Usage& usage);
os::Result<Outcome> outcome_from_json(const nlohmann::json& json);
os::Result<std::vector<LimitHit>> limits_hit_from_json(const nlohmann::json& json);
os::Result<Usage> usage_from_json(const nlohmann::json& json);

// Parses JSON from outside: at most `depth` levels, no duplicate keys, valid UTF-8, else invalid.
os::Result<nlohmann::json> parse_json(std::string_view text, int depth = 16);
// Serialises; invalid UTF-8 becomes U+FFFD. Keys are sorted: the form is canonical.
std::string dump_json(const nlohmann::json& json);

}  // namespace sandbox
