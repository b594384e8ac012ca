#include "runner/attest/dsse.h"

#include <nlohmann/json.hpp>

#include "sandbox/os/base64.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

os::Result<std::string> text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return os::fail(os::Code::invalid, std::string("the envelope has no text '") + key + "'");
  return found->get<std::string>();
}

}  // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view payload) {
  std::string bytes = "DSSEv1 " + std::to_string(type.size()) + " ";
  bytes += type;
  bytes += " " + std::to_string(payload.size()) + " ";
  bytes += payload;
  return bytes;
}

std::string make_envelope(const os::SigningKey& key, std::string_view type,
                          std::string_view payload) {
  const std::string signature = key.sign(pre_authentication_encoding(type, payload));
  return sandbox::dump_json(json{
      {"payloadType", std::string(type)},
      {"payload", os::base64_encode(payload)},
      {"signatures",
       json::array({{{"keyid", key.public_key().id()}, {"sig", os::base64_encode(signature)}}})}});
}

os::Result<Envelope> parse_envelope(std::string_view text) {
  const json object = TRY_CONTEXT(sandbox::parse_json(text), "envelope");
  if (!object.is_object() || object.size() != 3)
    return os::fail(os::Code::invalid,
                    "an envelope has payload, payloadType and signatures, nothing else");
  Envelope envelope;
  envelope.payload_type = TRY(text_of(object, "payloadType"));
  envelope.payload = TRY_CONTEXT(os::base64_decode(TRY(text_of(object, "payload"))), "payload");
  const auto signatures = object.find("signatures");
  if (signatures == object.end() || !signatures->is_array() || signatures->size() != 1 ||
      !signatures->front().is_object())
    return os::fail(os::Code::invalid, "the envelope has not one signature");
  envelope.key_id = TRY(text_of(signatures->front(), "keyid"));
  envelope.signature =
      TRY_CONTEXT(os::base64_decode(TRY(text_of(signatures->front(), "sig"))), "sig");
  return envelope;
}

os::Result<void> check_signature(const Envelope& envelope, const os::PublicKey& key) {
  if (envelope.key_id != key.id())
    return os::fail(os::Code::denied,
                    "signed by key " + envelope.key_id + ", the key given is " + key.id());
  if (!key.verifies(pre_authentication_encoding(envelope.payload_type, envelope.payload),
                    envelope.signature))
    return os::fail(os::Code::denied, "the signature is not of this payload");
  return {};
}

}  // namespace runner
