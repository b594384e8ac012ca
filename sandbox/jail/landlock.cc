#include "sandbox/jail/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sandbox::jail {
namespace {

// Of newer kernels than the headers of Debian 12 (include/uapi/linux/landlock.h of Linux 6.12).
constexpr std::uint64_t kTruncate = 1ULL << 14U;     // ABI 3
constexpr std::uint64_t kIoctlDevice = 1ULL << 15U;  // ABI 5
constexpr std::uint64_t kScopeSockets = 1ULL << 0U;  // ABI 6
constexpr std::uint64_t kScopeSignals = 1ULL << 1U;  // ABI 6

struct RulesetAttributes {
  std::uint64_t file_system = 0;
  std::uint64_t network = 0;  // the network namespace holds nothing to be kept from
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

std::uint64_t all_rights(int abi) {
  // Everything of ABI 2 is below the bit after REFER.
  std::uint64_t rights = (std::uint64_t{LANDLOCK_ACCESS_FS_REFER} << 1U) - 1;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDevice;
  return rights;
}

// The size of the attributes that this ABI knows: it refuses bytes it does not know unless zero,
// and older ones are shorter.
std::size_t attributes_size(int abi) {
  if (abi >= 6) return sizeof(RulesetAttributes);
  return abi >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

os::Result<void> allow(int rules, const std::string& path, std::uint64_t rights) {
  const os::Fd place = TRY(os::open_file(path, O_PATH | O_DIRECTORY));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return os::fail_errno("landlock rule for " + path);
  return {};
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0},
                             LANDLOCK_CREATE_RULESET_VERSION);
  return abi >= 2 ? static_cast<int>(abi) : 0;
}

os::Result<os::Fd> make_landlock_rules(const std::vector<std::string>& writable) {
  const int abi = landlock_abi();
  if (abi == 0) return os::Fd();
  const std::uint64_t all = all_rights(abi);
  RulesetAttributes attributes{.file_system = all};
  if (abi >= 6) attributes.scoped = kScopeSockets | kScopeSignals;
  os::Fd rules(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, attributes_size(abi), 0)));
  if (!rules.is_open()) return os::fail_errno("make landlock rules");
  TRY(allow(rules.get(), "/", kRead));
  constexpr std::uint64_t kDevice =
      kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;
  TRY(allow(rules.get(), "/dev", kDevice & all));
  TRY(allow(rules.get(), "/proc", kDevice & all));
  // Nowhere are device nodes made.
  constexpr std::uint64_t kNodes = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
  for (const std::string& path : writable) TRY(allow(rules.get(), path, all & ~kNodes));
  return rules;
}

os::Result<void> restrict_by_landlock(const os::Fd& rules) {
  if (!rules.is_open()) return {};
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0)
    return os::fail_errno("restrict by landlock");
  return {};
}

}  // namespace sandbox::jail
