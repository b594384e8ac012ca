#include "runner/cli/privileges.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace runner::cli {
namespace {

// Larger than any entry of a sane passwd file (man 3 getpwnam_r gives no bound).
constexpr std::size_t kEntryLimit = 64U << 10U;

}  // namespace

os::Result<Account> find_account(const std::string& user) {
  Account account{.uid = 0, .gid = 0, .name = user};
  std::vector<char> buffer(kEntryLimit);
  passwd entry{};
  passwd* found = nullptr;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), account.uid);
  const bool is_number = error == std::errc() && end == user.data() + user.size();
  if (is_number)
    ::getpwuid_r(account.uid, &entry, buffer.data(), buffer.size(), &found);
  else
    ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr && !is_number)
    return os::fail(os::Code::not_found, "there is no account '" + user + "'");
  account.uid = found != nullptr ? found->pw_uid : account.uid;
  account.gid = found != nullptr ? found->pw_gid : account.uid;
  if (account.uid == 0 || account.gid == 0)
    return os::fail(os::Code::invalid, "'" + user + "' is root; name an ordinary user");
  return account;
}

os::Result<void> drop_privileges(const Account& account) {
  if (::setgroups(0, nullptr) != 0) return os::fail_errno("setgroups");
  if (::setresgid(account.gid, account.gid, account.gid) != 0) return os::fail_errno("setresgid");
  if (::setresuid(account.uid, account.uid, account.uid) != 0) return os::fail_errno("setresuid");
  std::array<uid_t, 3> uids{};
  std::array<gid_t, 3> gids{};
  ::getresuid(&uids[0], &uids[1], &uids[2]);
  ::getresgid(&gids[0], &gids[1], &gids[2]);
  for (const uid_t uid : uids)
    if (uid != account.uid) return os::fail(os::Code::internal, "root was not given up");
  for (const gid_t gid : gids)
    if (gid != account.gid) return os::fail(os::Code::internal, "root's group was not given up");
  if (::setuid(0) == 0) return os::fail(os::Code::internal, "root can be had again");
  return harden_process();
}

os::Result<void> harden_process() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return os::fail_errno("no_new_privs");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return os::fail_errno("PR_SET_DUMPABLE");
  return {};
}

}  // namespace runner::cli
