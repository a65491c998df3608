#pragma once
// Checks of sshd's preconditions. sshd itself answers most failures only by a refused login on
// another machine.

#include <string>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"
#include "init/sys/fd.h"

namespace sshd {

// Creates the directory with mode 0700 and locks it: a second serve there would replace the first
// one.
base::Result<sys::Fd> take_directory(const Paths& paths);

// Checks that the account of this uid, and for root the capabilities, suit sshd. Returns the home
// directory of the account.
base::Result<std::string> check_account(const base::Environ& env);

// Runs sshd's own test of its configuration. Creates the directory for privilege separation if
// root's sshd misses it. The path differs between distributions, so it comes from sshd's message.
base::Status test_config(const Paths& paths, const std::string& sshd, const base::Environ& env,
                         const proc::SavedSignals& saved);

// Checks that sshd could listen on the port.
base::Status check_port(int port);

}  // namespace sshd
