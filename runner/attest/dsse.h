// DSSE envelopes: a payload with its type and a signature (secure-systems-lab/dsse, protocol 1.0).
#pragma once

#include <string>
#include <string_view>

#include "sandbox/os/signature.h"

namespace runner {

inline constexpr std::string_view kStatementType = "application/vnd.in-toto+json";

// What an envelope with one signature says. Nothing of it is trusted before check_signature.
struct Envelope {
  std::string payload_type;
  std::string payload;    // decoded
  std::string key_id;     // who is said to have signed
  std::string signature;  // decoded
};

// The bytes that are signed: the pre-authentication encoding of type and payload.
std::string pre_authentication_encoding(std::string_view type, std::string_view payload);

// The envelope as one line of JSON: {payload, payloadType, signatures:[{keyid, sig}]}.
std::string make_envelope(const os::SigningKey& key, std::string_view type,
                          std::string_view payload);

// invalid: not one JSON object of that form with exactly one signature.
os::Result<Envelope> parse_envelope(std::string_view json);

// denied, saying why: another key signed, or the signature is not of this type and payload.
os::Result<void> check_signature(const Envelope& envelope, const os::PublicKey& key);

}  // namespace runner
