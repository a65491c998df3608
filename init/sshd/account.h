#pragma once
// The account that logs in: its line of /etc/passwd, and why sshd would turn that account away. On
// texts: there is no name service in a static binary, so an account of LDAP has no line here and is
// not judged.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sshd {

struct Account {
  std::string name;
  std::string home;
  std::string shell;  // "/bin/sh" where the line has none

  bool operator==(const Account&) const = default;
};

// The first entry of `uid` in a text of /etc/passwd, which is read as envgen::parse_passwd does.
std::optional<Account> find_account(std::string_view passwd, std::uint32_t uid);

// sshd without PAM lets nobody in whose password in a text of /etc/shadow starts with '!', key or
// not. Only root's sshd reads that file.
bool is_locked(std::string_view shadow, std::string_view name);

// The shell runs every session's command: nologin would end each one.
envgen::Status check_shell(const Account& account);

}  // namespace sshd
