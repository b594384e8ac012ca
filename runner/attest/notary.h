// Notary: the key that serve signs with.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/os/signature.h"

namespace runner {

// Holds the Ed25519 key of an instance. Safe from any thread.
class Notary {
 public:
  // The key in `folder`/attest.key (PEM, mode 0600), made at the first start. denied: others than
  // its owner may read the file. `instance`: the name of this server in what it signs.
  static os::Result<Notary> open(const std::string& folder, std::string instance);

  const std::string& instance() const { return instance_; }
  const os::SigningKey& key() const { return key_; }
  // A DSSE envelope over the payload, one line.
  std::string sign(std::string_view type, std::string_view payload) const;

 private:
  Notary(os::SigningKey key, std::string instance)
      : key_(std::move(key)), instance_(std::move(instance)) {}
  os::SigningKey key_;
  std::string instance_;
};

}  // namespace runner
