#include "runner/attest/audit_chain.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "runner/attest/dsse.h"
#include "sandbox/os/digest.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

// More is no better: whoever reads it looks at the first ones.
constexpr std::size_t kMostProblems = 20;

// Takes the members of an object; the first that is missing or wrong is an error.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}
  os::Result<std::string> text(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_string()) return wrong(key, "is no text");
    return found->get<std::string>();
  }
  os::Result<std::int64_t> number(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_number_integer()) return wrong(key, "is no number");
    return found->get<std::int64_t>();
  }

 private:
  static std::unexpected<os::Error> wrong(const char* key, const char* what) {
    return os::fail(os::Code::invalid, std::string("'") + key + "' " + what);
  }
  const json& object_;
};

os::Result<void> check_schema(const json& object, std::size_t members) {
  if (!object.is_object() || object.size() != members)
    return os::fail(os::Code::invalid, "it has not the members of its kind");
  const std::int64_t schema = TRY(Members(object).number("schema"));
  if (schema != 1)
    return os::fail(os::Code::invalid, "its format is " + std::to_string(schema) + ", not 1");
  return {};
}

}  // namespace

std::string audit_origin() { return std::string(64, '0'); }

std::string to_line(const AuditEntry& entry) {
  json data = json::object();
  for (const auto& [name, value] : entry.event.data) data[name] = value;
  return sandbox::dump_json(json{{"schema", 1},
                                 {"sequence", entry.sequence},
                                 {"at", entry.at},
                                 {"boot", entry.boot},
                                 {"type", entry.event.type},
                                 {"actor", entry.event.actor},
                                 {"project", entry.event.project},
                                 {"subject", entry.event.subject},
                                 {"data", data},
                                 {"previous", entry.previous}});
}

os::Result<AuditEntry> parse_audit_line(std::string_view line) {
  constexpr std::size_t kMembers = 10;
  const json object = TRY(sandbox::parse_json(line));
  TRY(check_schema(object, kMembers));
  const Members members(object);
  AuditEntry entry;
  entry.sequence = TRY(members.number("sequence"));
  entry.at = TRY(members.text("at"));
  entry.boot = TRY(members.text("boot"));
  entry.event.type = TRY(members.text("type"));
  entry.event.actor = TRY(members.text("actor"));
  entry.event.project = TRY(members.text("project"));
  entry.event.subject = TRY(members.text("subject"));
  entry.previous = TRY(members.text("previous"));
  const auto data = object.find("data");
  if (data == object.end() || !data->is_object())
    return os::fail(os::Code::invalid, "'data' is no object");
  for (const auto& [name, value] : data->items()) {
    if (!value.is_string()) return os::fail(os::Code::invalid, "'data' holds more than texts");
    entry.event.data.emplace_back(name, value.get<std::string>());
  }
  return entry;
}

std::string make_head(const os::SigningKey& key, const AuditHead& head) {
  return make_envelope(key, kAuditHeadType,
                       sandbox::dump_json(json{{"schema", 1},
                                               {"instance", head.instance},
                                               {"sequence", head.sequence},
                                               {"sha256", head.sha256}}));
}

os::Result<AuditHead> parse_head(std::string_view text) {
  constexpr std::size_t kMembers = 4;
  const Envelope envelope = TRY(parse_envelope(text));
  if (envelope.payload_type != kAuditHeadType)
    return os::fail(os::Code::invalid, "payloadType is not that of an audit head");
  const json object = TRY(sandbox::parse_json(envelope.payload));
  TRY(check_schema(object, kMembers));
  const Members members(object);
  return AuditHead{.instance = TRY(members.text("instance")),
                   .sequence = TRY(members.number("sequence")),
                   .sha256 = TRY(members.text("sha256"))};
}

void AuditVerifier::problem(std::string text) {
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(text));
}

void AuditVerifier::expect(const AuditHead& earlier) { earlier_.push_back(earlier); }

void AuditVerifier::add(std::string_view line) {
  ++entries_;
  const std::string digest = os::sha256(line).hex();
  const os::Result<AuditEntry> entry = parse_audit_line(line);
  const std::string name = "entry " + std::to_string(sequence_ + 1);
  if (!entry) {
    problem(name + ": altered: " + entry.error().message);
    ++sequence_;
    digest_ = digest;
    return;
  }
  const bool is_next = entry->sequence == sequence_ + 1;
  if (!is_next)
    problem(entry->sequence > sequence_
                ? name + ": missing; entry " + std::to_string(entry->sequence) + " stands there"
                : "entry " + std::to_string(entry->sequence) + ": out of its order, after entry " +
                      std::to_string(sequence_));
  if (is_next && entry->previous != digest_)
    problem(sequence_ == 0 ? name + ": does not begin the log"
                           : name + ": does not follow on entry " + std::to_string(sequence_) +
                                 ": one of the two was altered");
  sequence_ = entry->sequence;
  digest_ = digest;
  const auto kept = std::ranges::find(earlier_, sequence_, &AuditHead::sequence);
  if (kept != earlier_.end() && kept->sha256 != digest_)
    problem("entry " + std::to_string(sequence_) + ": is not the one of the head kept earlier");
}

void AuditVerifier::finish(std::string_view head_envelope, const os::PublicKey& key) {
  const os::Result<Envelope> envelope = parse_envelope(head_envelope);
  const os::Result<AuditHead> head = parse_head(head_envelope);
  if (!envelope || !head) {
    problem("head: " + (envelope ? head.error().message : envelope.error().message));
    return;
  }
  if (const auto signed_by = check_signature(*envelope, key); !signed_by)
    problem("head: " + signed_by.error().message);
  if (head->sequence > sequence_)
    problem("truncated: the head is of entry " + std::to_string(head->sequence) +
            ", the log ends with entry " + std::to_string(sequence_));
  else if (head->sequence < sequence_)
    problem("head: is of entry " + std::to_string(head->sequence) + ", the log goes on to entry " +
            std::to_string(sequence_));
  else if (head->sha256 != digest_)
    problem("entry " + std::to_string(sequence_) + ": altered: it is not what the head was " +
            "signed for");
  for (const AuditHead& kept : earlier_) {
    if (kept.instance != head->instance) problem("head: of another server than the one kept");
    if (kept.sequence > sequence_)
      problem("truncated: the head kept earlier is of entry " + std::to_string(kept.sequence));
  }
}

}  // namespace runner
