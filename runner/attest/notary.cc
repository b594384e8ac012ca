#include "runner/attest/notary.h"

#include <sys/stat.h>

#include "runner/attest/dsse.h"
#include "sandbox/os/files.h"

namespace runner {

os::Result<Notary> Notary::open(const std::string& folder, std::string instance) {
  constexpr std::size_t kLimit = 4096;
  constexpr mode_t kOthers = 077;
  const std::string path = folder + "/attest.key";
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    os::SigningKey made = TRY(os::SigningKey::generate());
    TRY(os::write_file_durably(path, made.private_pem(), 0600));
    return Notary(std::move(made), std::move(instance));
  }
  if ((info.st_mode & kOthers) != 0)
    return os::fail(os::Code::denied, path + " may be read by others: chmod 0600 it");
  os::SigningKey kept =
      TRY_CONTEXT(os::SigningKey::from_pem(TRY(os::read_file(path, kLimit))), path);
  return Notary(std::move(kept), std::move(instance));
}

std::string Notary::sign(std::string_view type, std::string_view payload) const {
  return make_envelope(key_, type, payload);
}

}  // namespace runner
