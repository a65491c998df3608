#include "init/sshd/account.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "init/sandbox/passwd.h"

namespace sshd {
namespace {

constexpr const char* kPasswd = "/etc/passwd";

}  // namespace

std::optional<Account> find_account(std::string_view passwd, std::uint32_t uid) {
  for (sandbox::PasswdEntry& entry : sandbox::parse_passwd(passwd)) {
    if (entry.uid != uid) continue;
    return Account{.name = std::move(entry.name),
                   .home = std::move(entry.home),
                   .shell = entry.shell.empty() ? "/bin/sh" : std::move(entry.shell)};
  }
  return std::nullopt;
}

bool is_locked(std::string_view shadow, std::string_view name) {
  while (!shadow.empty()) {
    std::string_view line = base::take_line(shadow);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(':')) return line.starts_with(":!");
  }
  return false;
}

base::Status check_shell(const Account& account) {
  constexpr std::array<std::string_view, 2> kRefusing = {"nologin", "false"};
  constexpr const char* kWhat = "preparing sshd";
  const std::string where = std::string(kPasswd) + ": " + account.name;
  const std::string fix = "give it a shell in the image: usermod -s /bin/sh " + account.name;
  if (::access(account.shell.c_str(), X_OK) != 0) {
    return base::fail(kWhat, where, "the shell " + account.shell + ", which cannot be run", fix);
  }
  const std::string base = account.shell.substr(account.shell.rfind('/') + 1);
  for (const std::string_view refusing : kRefusing) {
    if (base == refusing) {
      return base::fail(kWhat, where, "the shell " + account.shell + ", which runs no command",
                        fix);
    }
  }
  return {};
}

}  // namespace sshd
