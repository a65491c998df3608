#include "init/sshd/prepare.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/printed_text.h"
#include "init/sshd/account.h"
#include "init/sshd/tool.h"
#include "init/sys/files.h"

namespace sshd {
namespace {

constexpr const char* kPreparing = "preparing sshd";
constexpr mode_t kOwnerOnly = 0700;

base::Status check_capabilities() {
  struct Need {
    int number;
    const char* name;
  };
  constexpr auto kNeeds = std::to_array(
      {Need{CAP_SYS_CHROOT, "SYS_CHROOT"}, Need{CAP_SETUID, "SETUID"}, Need{CAP_SETGID, "SETGID"}});
  for (const Need& need : kNeeds) {
    if (::prctl(PR_CAPBSET_READ, need.number, 0, 0, 0) != 0) continue;
    return base::fail(kPreparing, "the capabilities of this container",
                      std::string("no ") + need.name + ", which root's sshd needs",
                      "add SYS_CHROOT, SETUID and SETGID, or run as a user other than root, "
                      "whose sshd needs none");
  }
  return {};
}

std::string quoted_part(const std::string& text, const std::string& marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + marker.size();
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

std::string advice_for(const std::string& output) {
  if (output.find("Privilege separation user") != std::string::npos) {
    return "add it in the image (useradd -r -s /usr/sbin/nologin sshd), or run as a user other "
           "than root";
  }
  return "see sshd's own words";
}

}  // namespace

base::Result<sys::Fd> take_directory(const Paths& paths) {
  constexpr const char* kWhat = "taking the directory of the peer";
  TRY(sys::make_directories(paths.directory, kOwnerOnly));
  struct stat status{};
  if (::stat(paths.directory.c_str(), &status) != 0 || status.st_uid != ::geteuid()) {
    return base::fail(kWhat, paths.directory, "another user's directory",
                      "choose another run directory (TRAINIT_RUN_DIR)");
  }
  if ((status.st_mode & 07777) != kOwnerOnly && ::chmod(paths.directory.c_str(), kOwnerOnly) != 0) {
    return base::fail(kWhat, paths.directory, sys::errno_text(errno),
                      "choose a run directory on a file system with modes");
  }
  sys::Fd lock(::open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) {
    return base::fail(kWhat, paths.lock, sys::errno_text(errno),
                      "make room there, make it writable, or choose another run directory");
  }
  // Takes an fcntl lock, which belongs only to this process. A flock would also be held by sshd,
  // between fork and exec.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.get(), F_SETLK, &whole) != 0) {
    const bool taken = errno == EACCES || errno == EAGAIN;
    return base::fail(kWhat, paths.directory,
                      taken ? "another peer serve that is using it" : sys::errno_text(errno),
                      "give each its own run directory (TRAINIT_RUN_DIR)");
  }
  return lock;
}

base::Result<std::string> check_account(const base::Environ& env) {
  if (::geteuid() == 0) {
    TRY(check_capabilities());
  }
  const auto account = find_account(sys::inspect("/etc/passwd", true).content, ::geteuid());
  if (!account) return std::string(env.get_or("HOME", "/"));
  TRY(check_shell(*account));
  if (::geteuid() == 0 && is_locked(sys::inspect("/etc/shadow", true).content, account->name)) {
    return base::fail(
        kPreparing, "/etc/shadow",
        "the account " + account->name + " locked, which sshd turns away",
        "unlock it in the image, still without a password: usermod -p '*' " + account->name);
  }
  return account->home;
}

base::Status test_config(const Paths& paths, const std::string& sshd, const base::Environ& env,
                         const proc::SavedSignals& saved) {
  const std::vector<std::string> argv = {sshd, "-t", "-f", paths.config};
  ToolResult test = run_tool(argv, env, saved);
  const std::string missing = quoted_part(test.output, "Missing privilege separation directory: ");
  if (test.code != 0 && missing.starts_with('/')) {
    constexpr std::uint32_t kMode = 0755;
    if (auto made = sys::make_directories(missing, kMode); !made) {
      return base::fail("making the directory that root's sshd needs", missing, made.error().found,
                        "add \"RUN mkdir -p " + missing +
                            "\" to the image, mount a tmpfs above it, or run as a user other "
                            "than root");
    }
    test = run_tool(argv, env, saved);
  }
  if (test.code == 0) return {};
  return base::fail("testing sshd's configuration", paths.config, base::last_line(test.output),
                    advice_for(test.output));
}

base::Status check_port(int port) {
  const sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return {};
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd.get(), 1) == 0) {
    return {};
  }
  const bool low = errno == EACCES;
  return base::fail("listening for ssh", "port " + std::to_string(port), sys::errno_text(errno),
                    low ? "a user other than root takes one from 1024 on: --ssh-port 2222"
                        : "choose a free one, the same on all nodes: --ssh-port");
}

}  // namespace sshd
