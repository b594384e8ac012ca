#include "sandbox/wire.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sandbox {

using nlohmann::json;

namespace {

constexpr int kSchema = 1;

// Fields<T> lists the members of T once, for both directions: visit(archive, object) calls
// archive(key, member) for each. Names<E> lists the words of an enum in its order.
template <class T>
struct Fields;
template <class E>
struct Names;

template <class T>
concept HasFields = requires { sizeof(Fields<T>); };

template <>
struct Names<Domain> {
  static constexpr std::array<std::string_view, 4> kAll{"change", "base", "judge", "reader"};
};
template <>
struct Names<WorkspaceMode> {
  static constexpr std::array<std::string_view, 3> kAll{"none", "shared", "scratch"};
};
template <>
struct Names<MountSource> {
  static constexpr std::array<std::string_view, 3> kAll{"output", "input", "repository"};
};
template <>
struct Names<Ahead> {
  static constexpr std::array<std::string_view, 3> kAll{"nothing", "namespaces", "sandbox"};
};
template <>
struct Names<Profile> {
  static constexpr std::array<std::string_view, 2> kAll{"step", "strict"};
};

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value) {
    out_[key] = make(value);
  }
  // A key that records of earlier versions do not have.
  template <class T>
  void added(const char* key, const T& value) {
    (*this)(key, value);
  }
  json take() { return std::move(out_); }

  template <class T>
  static json make(const T& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, os::Bytes>) {
      return value.count;
    } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
      return value.count();
    } else if constexpr (std::is_same_v<T, Outcome>) {
      return to_json(value);
    } else if constexpr (std::is_enum_v<T>) {
      return Names<T>::kAll[static_cast<std::size_t>(value)];
    } else if constexpr (HasFields<T>) {
      Writer writer;
      Fields<T>::visit(writer, value);
      return writer.take();
    } else {
      json list = json::array();
      for (const auto& entry : value) list.push_back(make(entry));
      return list;
    }
  }

 private:
  json out_ = json::object();
};

std::unexpected<os::Error> wrong(std::string_view key, std::string_view expected) {
  return os::fail(os::Code::invalid, fmt::format("'{}' is not {}", key, expected));
}

template <class T>
os::Result<T> read_integer(const json& in, std::string_view key) {
  if (!in.is_number_integer()) return wrong(key, "an integer");
  // Bytes are unsigned here, but nothing of ours holds more than a signed count.
  if (in.is_number_unsigned() && in.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return wrong(key, "in range");
  const auto value = in.get<std::int64_t>();
  if (!std::in_range<T>(value)) return wrong(key, "in range");
  return static_cast<T>(value);
}

template <class T>
os::Result<T> read(const json& in, std::string_view key);

// Reads the members of one object; keeps the first error.
class Reader {
 public:
  explicit Reader(const json& in) : in_(in) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if (error_) return;
    const auto found = in_.find(key);
    if (found == in_.end()) {
      error_ = os::Error{os::Code::invalid, fmt::format("key '{}' is missing", key), 0};
      return;
    }
    known_.push_back(key);
    os::Result<T> got = read<T>(*found, key);
    if (got)
      value = std::move(*got);
    else
      error_ = std::move(got).error();
  }

  template <class T>
  void added(const char* key, T& value) {
    if (in_.contains(key)) (*this)(key, value);
  }

  // Nothing but the keys that were asked for.
  os::Result<void> finish() const {
    if (error_) return std::unexpected(*error_);
    for (const auto& [key, value] : in_.items())
      if (std::ranges::find(known_, key) == known_.end())
        return os::fail(os::Code::invalid, fmt::format("key '{}' is unknown", key));
    return {};
  }

 private:
  const json& in_;
  std::vector<std::string> known_;
  std::optional<os::Error> error_;
};

template <class T>
struct ListElement : std::false_type {};
template <class T>
struct ListElement<std::vector<T>> : std::true_type {
  using type = T;
};

template <class T>
os::Result<T> read_object(const json& in, std::string_view key) {
  if (!in.is_object()) return wrong(key, "an object");
  Reader reader(in);
  T value;
  Fields<T>::visit(reader, value);
  TRY_CONTEXT(reader.finish(), key);
  return value;
}

template <class T>
os::Result<T> read(const json& in, std::string_view key) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!in.is_string()) return wrong(key, "a string");
    return in.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!in.is_boolean()) return wrong(key, "true or false");
    return in.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer<T>(in, key);
  } else if constexpr (std::is_same_v<T, os::Bytes>) {
    return os::Bytes{TRY(read_integer<std::uint64_t>(in, key))};
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return std::chrono::milliseconds(TRY(read_integer<std::int64_t>(in, key)));
  } else if constexpr (std::is_same_v<T, Outcome>) {
    return outcome_from_json(in);
  } else if constexpr (std::is_enum_v<T>) {
    if (!in.is_string()) return wrong(key, "a string");
    const auto& names = Names<T>::kAll;
    const auto found = std::ranges::find(names, in.get_ref<const std::string&>());
    if (found == names.end()) return wrong(key, fmt::format("one of {}", fmt::join(names, ", ")));
    return static_cast<T>(found - names.begin());
  } else if constexpr (ListElement<T>::value) {
    if (!in.is_array()) return wrong(key, "a list");
    T list;
    for (const json& entry : in)
      list.push_back(TRY(read<typename ListElement<T>::type>(entry, key)));
    return list;
  } else {
    return read_object<T>(in, key);
  }
}

template <>
struct Fields<IdRange> {
  static void visit(auto& archive, auto& range) {
    archive("start", range.start);
    archive("count", range.count);
  }
};

template <>
struct Fields<DriverFile> {
  static void visit(auto& archive, auto& file) {
    archive("path", file.path);
    archive("name", file.name);
  }
};

template <>
struct Fields<Bounds> {
  static void visit(auto& archive, auto& bounds) {
    archive("attempt", bounds.attempt);
    archive("cgroup", bounds.cgroup);
    archive("ids", bounds.ids);
    archive("attempt_uid", bounds.attempt_uid);
    archive("attempt_gid", bounds.attempt_gid);
    archive("cpus", bounds.cpus);
    archive("memory", bounds.memory);
    archive("gaps_allowed", bounds.gaps_allowed);
    archive("read_only_paths", bounds.read_only_paths);
    archive("driver_files", bounds.driver_files);
    archive("ahead", bounds.ahead);
  }
};

template <>
struct Fields<Limits> {
  static void visit(auto& archive, auto& limits) {
    archive("cpus", limits.cpus);
    archive("memory", limits.memory);
    archive("pids", limits.pids);
    archive("disk", limits.disk);
    archive("inodes", limits.inodes);
    archive("shm", limits.shm);
    archive("files", limits.files);
    archive("wall_ms", limits.wall);
    archive("idle_ms", limits.idle);
    archive("cpu_time_ms", limits.cpu_time);
    archive("keep", limits.keep);
    archive("output", limits.output);
  }
};

template <>
struct Fields<LimitHit> {
  static void visit(auto& archive, auto& hit) {
    archive("limit", hit.limit);
    archive("figure", hit.figure);
    archive("bound", hit.bound);
  }
};

template <>
struct Fields<Usage> {
  static void visit(auto& archive, auto& usage) {
    archive("wall_ms", usage.wall_ms);
    archive("user_ms", usage.user_ms);
    archive("sys_ms", usage.sys_ms);
    archive.added("wall_us", usage.wall_us);
    archive.added("cpu_us", usage.cpu_us);
    archive("memory_peak", usage.memory_peak);
    archive("pids_peak", usage.pids_peak);
    archive("read_bytes", usage.read_bytes);
    archive("written_bytes", usage.written_bytes);
    archive("left_behind", usage.left_behind);
  }
};

template <>
struct Fields<WorkspaceRequest> {
  static void visit(auto& archive, auto& request) {
    archive("name", request.name);
    archive("domain", request.domain);
    archive("tree", request.tree);
    archive("layer", request.layer);
    archive("directory", request.directory);
    archive("disk", request.disk);
    archive("inodes", request.inodes);
  }
};
template <>
struct Fields<Mount> {
  static void visit(auto& archive, auto& mount) {
    archive("source", mount.source);
    archive("name", mount.name);
    archive("target", mount.target);
  }
};
template <>
struct Fields<Collect> {
  static void visit(auto& archive, auto& collect) {
    archive("name", collect.name);
    archive("path", collect.path);
    archive("from_out", collect.from_out);
    archive("is_directory", collect.is_directory);
    archive("limit", collect.limit);
    archive("files", collect.files);
  }
};

template <>
struct Fields<RunRequest> {
  static void visit(auto& archive, auto& request) {
    archive("id", request.id);
    archive("domain", request.domain);
    archive("profile", request.profile);
    archive("workspace", request.workspace);
    archive("mode", request.mode);
    archive("command", request.command);
    archive("environment", request.environment);
    archive("limits", request.limits);
    archive("mounts", request.mounts);
    archive("clear", request.clear);
    archive("collect", request.collect);
    archive("separate_error_output", request.separate_error_output);
    archive("out", request.out);
    archive("gpus", request.gpus);
    archive("beside", request.beside);
  }
};
template <>
struct Fields<Collected> {
  static void visit(auto& archive, auto& collected) {
    archive("name", collected.name);
    archive("error", collected.error);
    archive("path", collected.path);
    archive("files", collected.files);
    archive("bytes", collected.bytes);
  }
};
template <>
struct Fields<RunResult> {
  static void visit(auto& archive, auto& result) {
    archive("outcome", result.outcome);
    archive("limits_hit", result.limits_hit);
    archive("usage", result.usage);
    archive("output_bytes", result.output_bytes);
    archive("head_bytes", result.head_bytes);
    archive("tail_bytes", result.tail_bytes);
    archive("collected", result.collected);
    archive("level", result.level);
    archive("gaps", result.gaps);
    archive("beside", result.beside);
  }
};
template <>
struct Fields<CancelRequest> {
  static void visit(auto&, auto&) {}
};
template <>
struct Fields<PublishRequest> {
  static void visit(auto& archive, auto& request) {
    archive("run", request.run);
    archive("path", request.path);
    archive("tree", request.tree);
  }
};
template <>
struct Fields<KeepLayerRequest> {
  static void visit(auto& archive, auto& request) {
    archive("workspace", request.workspace);
    archive("key", request.key);
  }
};
template <>
struct Fields<os::Error> {
  static void visit(auto& archive, auto& error) {
    archive("code", error.code);
    archive("message", error.message);
    archive("errno", error.sys_errno);
  }
};
template <>
struct Names<os::Code> {
  static constexpr std::array<std::string_view, 10> kAll{
      "invalid",     "not_found", "conflict",  "denied",  "exhausted",
      "unavailable", "timeout",   "cancelled", "corrupt", "internal"};
};

constexpr std::array<std::string_view, 5> kRequests{"workspace", "run", "cancel", "publish",
                                                    "keep_layer"};

// Takes the format number and one envelope key off an object that has nothing but these two.
os::Result<std::pair<std::string, json>> open_envelope(std::string_view text) {
  json outer = TRY(parse_json(text));
  if (!outer.is_object()) return wrong("message", "an object");
  const auto schema = outer.find("schema");
  if (schema == outer.end()) return os::fail(os::Code::invalid, "key 'schema' is missing");
  if (TRY(read_integer<int>(*schema, "schema")) != kSchema)
    return os::fail(os::Code::invalid, "'schema' is not a number this program knows");
  outer.erase("schema");
  if (outer.size() != 1) return os::fail(os::Code::invalid, "a message has one kind");
  return std::pair{outer.begin().key(), std::move(outer.begin().value())};
}

std::string envelope(std::string_view kind, json content) {
  return dump_json(json{{"schema", kSchema}, {std::string(kind), std::move(content)}});
}

}  // namespace

std::string encode(const Request& request) {
  return std::visit(
      [&](const auto& value) { return envelope(kRequests[request.index()], Writer::make(value)); },
      request);
}

os::Result<Request> decode_request(std::string_view text) {
  const auto [kind, content] = TRY(open_envelope(text));
  if (kind == "workspace") return TRY(read<WorkspaceRequest>(content, kind));
  if (kind == "run") return TRY(read<RunRequest>(content, kind));
  if (kind == "cancel") return TRY(read<CancelRequest>(content, kind));
  if (kind == "publish") return TRY(read<PublishRequest>(content, kind));
  if (kind == "keep_layer") return TRY(read<KeepLayerRequest>(content, kind));
  return os::fail(os::Code::invalid, fmt::format("'{}' is no kind of request", kind));
}

std::string encode(const Reply& reply) {
  if (reply.error) return envelope("error", Writer::make(*reply.error));
  if (reply.result) return envelope("result", Writer::make(*reply.result));
  return envelope("done", json::object());
}

os::Result<Reply> decode_reply(std::string_view text) {
  const auto [kind, content] = TRY(open_envelope(text));
  Reply reply;
  if (kind == "error")
    reply.error = TRY(read<os::Error>(content, kind));
  else if (kind == "result")
    reply.result = TRY(read<RunResult>(content, kind));
  else if (kind != "done" || content != json::object())
    return os::fail(os::Code::invalid, fmt::format("'{}' is no kind of reply", kind));
  return reply;
}

std::string encode(const Bounds& bounds) { return envelope("bounds", Writer::make(bounds)); }

os::Result<Bounds> decode_bounds(std::string_view text) {
  const auto [kind, content] = TRY(open_envelope(text));
  if (kind != "bounds") return os::fail(os::Code::invalid, "not the bounds of a jail");
  return read<Bounds>(content, kind);
}

json to_json(const std::vector<LimitHit>& hits) { return Writer::make(hits); }

json to_json(const Usage& usage) { return Writer::make(usage); }

os::Result<Outcome> outcome_from_json(const json& in) {
  if (!in.is_object()) return wrong("outcome", "an object");
  Reader reader(in);
  std::string kind;
  reader("kind", kind);
  Outcome outcome;
  if (!kind.empty()) outcome.kind = TRY(parse_outcome_kind(kind));
  switch (outcome.kind) {
    case OutcomeKind::exited:
      reader("code", outcome.code);
      break;
    case OutcomeKind::signalled:
      reader("signal", outcome.signal);
      break;
    case OutcomeKind::timed_out:
    case OutcomeKind::killed:
      reader("limit", outcome.limit);
      break;
    case OutcomeKind::cancelled:
      break;
    case OutcomeKind::setup_failed:
      reader("step", outcome.step);
      reader.added("errno", outcome.error_number);
      break;
  }
  TRY_CONTEXT(reader.finish(), "outcome");
  return outcome;
}

os::Result<std::vector<LimitHit>> limits_hit_from_json(const json& in) {
  return read<std::vector<LimitHit>>(in, "limits_hit");
}

os::Result<Usage> usage_from_json(const json& in) { return read<Usage>(in, "usage"); }

}  // namespace sandbox
