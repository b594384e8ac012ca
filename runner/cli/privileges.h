// Privileges: giving up root for good.
#pragma once

#include <sys/types.h>

#include <string>

#include "sandbox/os/result.h"

namespace runner::cli {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // as it was given
};

// An account by name, or a number, which needs no account: its group is the account's, else the
// same number. invalid: root itself; not_found.
os::Result<Account> find_account(const std::string& user);

// Becomes that user for the rest of the process's life, with no supplementary groups, no
// capabilities, no_new_privs, and out of reach of debuggers of the same user. Read back; an Error
// means that the process must end. Only while it has one thread.
os::Result<void> drop_privileges(const Account& account);

// no_new_privs and no core files or debuggers, for a process that keeps its user.
os::Result<void> harden_process();

}  // namespace runner::cli
