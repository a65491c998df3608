#include "init/sshd/config.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sshd {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Returns whether the variable belongs to one process, or to the place where that runs. For SHLVL
// see session_environ().
bool is_own(std::string_view name) {
  return name.empty() || is_one_of(name, {"_", "PWD", "OLDPWD", "SHLVL", "LISTEN_FDS", "LISTEN_PID",
                                          "LISTEN_FDNAMES", "NOTIFY_SOCKET"});
}

bool is_of_login(std::string_view name) {
  return name.starts_with("SSH_") || is_one_of(name, {"TERM", "HOME", "USER", "LOGNAME", "SHELL"});
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

bool fits_in_a_line(std::string_view path) {
  return std::ranges::none_of(path, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\' || c == '\x7f';
  });
}

std::string quoted(std::string_view path) { return '"' + std::string(path) + '"'; }

// Doubles each '%', because sshd would expand %h and other tokens in a path.
std::string without_tokens(std::string_view path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

}  // namespace

Paths::Paths(const std::string& given)
    : directory(given),
      lock(given + "/lock"),
      socket(given + "/end"),
      config(given + "/sshd_config"),
      host_key(given + "/host_key"),
      key(given + "/key"),
      authorized_keys(given + "/authorized_keys"),
      environment(given + "/environment") {}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  return base::shell_quoted(word);
}

base::Result<std::string> sshd_config(const Paths& paths, int port, const std::string& program) {
  for (const std::string& path : {paths.directory, program}) {
    if (path.starts_with('/') && fits_in_a_line(path)) continue;
    return base::fail("writing sshd_config",
                      path.empty() ? "trainit's own path, which is not known" : path,
                      "no absolute path without quotes, backslashes and control characters",
                      "choose another directory, or start trainit by its absolute path");
  }
  std::string text = "Port " + std::to_string(port) + "\n";
  text += "HostKey " + quoted(paths.host_key) + "\n";
  text += "AuthorizedKeysFile " + quoted(without_tokens(paths.authorized_keys)) + "\n";
  text += "ForceCommand exec " + shell_word(program) + " peer session --dir " +
          shell_word(paths.directory) + "\n";
  // Allows login only by keys. StrictModes is off, because it would refuse a run directory below
  // /tmp. The file of keys is trainit's own, and keys.cc checks what it contains. PermitRootLogin's
  // forced-commands-only cannot be used: it looks at the command of a key, not at ForceCommand.
  text +=
      "PubkeyAuthentication yes\n"
      "PasswordAuthentication no\n"
      "KbdInteractiveAuthentication no\n"
      "PermitRootLogin prohibit-password\n"
      "UsePAM no\n"
      "StrictModes no\n"
      "MaxAuthTries 20\n";
  // Many connections can start at once, because a launcher starts on all nodes at the same time,
  // and again on this one. A launcher that does not answer for three minutes is dead; a paused one
  // answers sooner.
  text +=
      "MaxStartups 1000:30:4000\n"
      "MaxSessions 1000\n"
      "TCPKeepAlive yes\n"
      "ClientAliveInterval 30\n"
      "ClientAliveCountMax 6\n"
      "UseDNS no\n";
  text +=
      "PidFile none\n"
      "DisableForwarding yes\n"
      "PermitUserRC no\n"
      "PrintMotd no\n"
      "PrintLastLog no\n"
      "LogLevel ERROR\n";
  return text;
}

std::string to_environment_file(const base::Environ& own) {
  std::string text;
  for (const std::string& entry : own.entries()) {
    if (is_own(name_of(entry))) continue;
    text += entry;
    text += '\0';
  }
  return text;
}

base::Environ session_environ(std::string_view file, const base::Environ& own) {
  std::vector<std::string> entries;
  while (!file.empty()) {
    const std::string_view entry = base::take_part(file, '\0');
    if (!entry.empty() && !is_of_login(name_of(entry))) entries.emplace_back(entry);
  }
  for (const std::string& entry : own.entries()) {
    if (is_of_login(name_of(entry))) entries.push_back(entry);
  }
  base::Environ env(std::move(entries));
  // Sets SHLVL, because a bash that sshd starts as the first shell reads ~/.bashrc even for a
  // command. The variables of that file would replace those of the plan.
  env.set("SHLVL", "1");
  return env;
}

base::Environ tool_environ(const base::Environ& own) {
  constexpr std::array<std::string_view, 5> kKept = {"PATH", "HOME", "USER", "LOGNAME", "TZ"};
  base::Environ env;
  for (const std::string_view name : kKept) {
    if (const auto value = own.get(name)) env.set(name, *value);
  }
  return env;
}

std::vector<std::string> client_argv(int port, const std::string& key, int timeout_s,
                                     const std::string& host, const std::string& command) {
  std::vector<std::string> argv = {"ssh", "-n", "-p", std::to_string(port)};
  if (!key.empty()) argv.insert(argv.end(), {"-i", key, "-o", "IdentitiesOnly=yes"});
  for (const std::string& option :
       {std::string("BatchMode=yes"), std::string("StrictHostKeyChecking=no"),
        std::string("UserKnownHostsFile=/dev/null"), std::string("LogLevel=ERROR"),
        std::string("ControlPath=none"), "ConnectTimeout=" + std::to_string(timeout_s)}) {
    argv.insert(argv.end(), {"-o", option});
  }
  argv.insert(argv.end(), {"--", host, command});
  return argv;
}

std::vector<std::string> parse_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  while (!text.empty()) {
    std::string_view line = base::take_line(text);
    line = base::take_part(line, '#');
    const std::string_view host = base::take_word(line);
    if (!host.empty()) hosts.emplace_back(host);
  }
  return hosts;
}

}  // namespace sshd
