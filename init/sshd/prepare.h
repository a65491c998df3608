#pragma once
// Checks what sshd needs before it is started. Otherwise most failures would only show as a refused
// login on another machine.

#include <string>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"
#include "init/sys/fd.h"

namespace sshd {

// Creates the directory with mode 0700 and locks it. A second serve in the same directory would
// replace files of the first one.
base::Result<sys::Fd> take_directory(const Paths& paths);

// Checks that sshd accepts the account of this user, and that root has the capabilities it needs.
// Returns the home directory of the account.
base::Result<std::string> check_account(const base::Environ& env);

// Runs sshd's own test of its configuration. If root's sshd misses its directory for privilege
// separation, creates it. Its path differs between distributions, so it is taken from sshd's
// message.
base::Status test_config(const Paths& paths, const std::string& sshd, const base::Environ& env,
                         const proc::SavedSignals& saved);

// Checks that sshd could listen on the port.
base::Status check_port(int port);

}  // namespace sshd
