#pragma once
// The account that logs in: its line of /etc/passwd, and reasons why sshd would refuse it. The
// functions read texts, because a static binary has no name service. An account of LDAP has no line
// there and is not checked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sshd {

struct Account {
  std::string name;
  std::string home;
  std::string shell;  // "/bin/sh" if missing in the line

  bool operator==(const Account&) const = default;
};

// Returns the first entry of `uid` in a text of /etc/passwd, which is read as by
// sandbox::parse_passwd.
std::optional<Account> find_account(std::string_view passwd, std::uint32_t uid);

// Returns true if the account's password in a text of /etc/shadow begins with '!'. sshd without PAM
// refuses such an account, even with a key. Only root's sshd reads that file.
bool is_locked(std::string_view shadow, std::string_view name);

// Fails if the account's shell cannot run commands. It runs the command of every session, so a
// shell such as nologin would end each one.
base::Status check_shell(const Account& account);

}  // namespace sshd
