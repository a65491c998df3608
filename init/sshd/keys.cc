#include "init/sshd/keys.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/printed_text.h"
#include "init/sshd/tool.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace sshd {
namespace {

using Kind = envgen::PathState::Kind;

constexpr std::uint32_t kPrivate = 0600;

bool is_file(const std::string& path) { return sys::inspect(path, false).kind == Kind::kFile; }

// Returns the error of a tool that failed. OpenSSH's programs exit at once if the uid has no name.
std::unexpected<base::Error> tool_failed(const std::string& what, const std::string& where,
                                         const ToolResult& result, const std::string& fix) {
  const std::string line = base::last_line(result.output);
  if (line.find("No user exists") != std::string::npos) {
    return base::fail("preparing sshd", "/etc/passwd",
                      "no entry for uid " + std::to_string(::geteuid()) +
                          ", without which ssh and sshd refuse to work",
                      "add the user in the image (useradd), or run as one that exists");
  }
  return base::fail(what, where, line.empty() ? "exit code " + std::to_string(result.code) : line,
                    fix);
}

base::Result<std::string> public_half(const std::string& private_key, const KeyTools& tools) {
  // With -P, a key that has a passphrase fails with that reason, and not with an error about the
  // terminal.
  ToolResult result =
      run_tool({tools.ssh_keygen, "-y", "-P", "", "-f", private_key}, tools.env, tools.saved);
  if (result.code != 0) {
    return tool_failed("reading a private key", private_key, result,
                       "give one without a passphrase, as ssh-keygen writes it");
  }
  return result.output;
}

std::string with_newline(std::string text) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

// Returns the path without symlinks; "" if it does not exist.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : "";
}

bool is_read_only(const std::string& path) {
  struct statvfs system{};
  return ::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0;
}

// Returns which part of `path` users other than its owner can write: the file, or a directory above
// it up to `home`. The text is "/home/a/.ssh, mode 0777"; "" if no part is. This is the rule of
// sshd's StrictModes, which is off, with two exceptions for mounted secrets: a read-only mount, and
// a sticky directory in which root or this user owns the entry.
std::string writable_by_others(const std::string& path, const std::string& home) {
  const std::string top = real_path(home);
  bool kept = false;  // in a sticky directory, other users cannot rename the entry
  for (std::string at = real_path(path); !at.empty();) {
    struct stat status{};
    if (::stat(at.c_str(), &status) != 0) return at + ", " + sys::errno_text(errno);
    const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0 && kept;
    if ((status.st_mode & 022) != 0 && !sticky && !is_read_only(at)) {
      std::array<char, 16> mode{};
      std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
      return at + ", mode " + mode.data();
    }
    if (at == top || at == "/") break;
    kept = status.st_uid == 0 || status.st_uid == ::geteuid();
    at.resize(std::max<std::size_t>(at.rfind('/'), 1));
  }
  return {};
}

// Returns the content of a file with keys in the home directory, or why its keys may not log in.
base::Result<std::string> key_file(const std::string& path, const std::string& home) {
  if (const std::string weak = writable_by_others(path, home); !weak.empty()) {
    return base::fail("reading who may log in", path, "others may write " + weak,
                      "take that from them (chmod go-w), or give the job's key by --ssh-key");
  }
  const envgen::PathState state = sys::inspect(path, true);
  return with_newline(state.content);
}

std::string default_keys(const KeyTools& tools, const std::string& home) {
  constexpr std::array<const char*, 4> kNames = {"id_rsa", "id_ecdsa", "id_ed25519", "id_dsa"};
  std::string keys;
  for (const char* name : kNames) {
    const std::string path = home + "/.ssh/" + name;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) continue;
    const bool has_half = is_file(path + ".pub");
    auto source = key_file(has_half ? path + ".pub" : path, home);
    if (!source) {
      sys::log::warning(to_line(source.error()) + "; ignoring it");
      continue;
    }
    if (status.st_uid == ::geteuid() && (status.st_mode & 077) != 0) {
      sys::log::warning(path + " may be read by others, so the ssh client refuses it: chmod 600, " +
                        "or give it by --ssh-key, which makes a private copy");
    }
    if (has_half) {
      keys += *source;
    } else if (const auto derived = public_half(path, tools)) {
      keys += with_newline(*derived);
    } else {
      sys::log::warning(to_line(derived.error()) + "; ignoring it");
    }
  }
  return keys;
}

}  // namespace

base::Status make_host_key(const Paths& paths, const KeyTools& tools) {
  if (is_file(paths.host_key) && public_half(paths.host_key, tools)) return {};
  // The second type is for a FIPS build of OpenSSH, which has no ed25519.
  constexpr std::array<const char*, 2> kTypes = {"ed25519", "ecdsa"};
  ToolResult last;
  for (const char* type : kTypes) {
    ::unlink(paths.host_key.c_str());
    ::unlink((paths.host_key + ".pub").c_str());
    last = run_tool({tools.ssh_keygen, "-q", "-t", type, "-N", "", "-f", paths.host_key}, tools.env,
                    tools.saved);
    if (last.code == 0) return {};
  }
  return tool_failed("making the host key", paths.host_key, last,
                     "make room there, or choose another run directory");
}

base::Status copy_key(const Paths& paths, const std::string& file) {
  const envgen::PathState state = sys::inspect(file, true);
  constexpr const char* kWhat = "reading the private key of the job (--ssh-key)";
  constexpr const char* kFix = "mount the same key on every node, readable for this user";
  if (state.kind == Kind::kAbsent) return base::fail(kWhat, file, "nothing there", kFix);
  if (state.kind == Kind::kDirectory) return base::fail(kWhat, file, "a directory", kFix);
  if (state.kind != Kind::kFile) {
    return base::fail(kWhat, file, sys::errno_text(state.error), kFix);
  }
  std::string content = state.content;
  std::erase(content, '\r');
  return sys::write_file_atomic(paths.key, kPrivate, with_newline(std::move(content)));
}

base::Status authorize(const Paths& paths, const KeyTools& tools, bool with_key,
                       const std::string& home) {
  std::string keys;
  if (with_key) {
    TRY_ASSIGN(auto half, public_half(paths.key, tools));
    keys = with_newline(half);
  } else {
    keys = default_keys(tools, home);
  }
  const std::string own = home + "/.ssh/authorized_keys";
  if (is_file(own)) {
    auto given = key_file(own, home);
    if (!given && keys.empty()) return std::unexpected(given.error());
    if (!given) sys::log::warning(to_line(given.error()) + "; ignoring it");
    if (given) keys += *given;
  }
  if (keys.empty()) {
    return base::fail("deciding who may log in", own,
                      "neither that file nor a key of the ssh client beside it",
                      "give all nodes one key: --ssh-key FILE, or " + home + "/.ssh/id_ed25519");
  }
  return sys::write_file_atomic(paths.authorized_keys, kPrivate, keys);
}

}  // namespace sshd
