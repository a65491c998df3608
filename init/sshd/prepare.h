#pragma once
// Preconditions of sshd: checked here, because sshd's own answer to most of it is a refused login
// on another machine.

#include <string>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"
#include "init/sys/fd.h"

namespace sshd {

// Makes the directory, 0700, and locks it: a second serve there would take the first one's place.
envgen::Result<sys::Fd> take_directory(const Paths& paths);

// The account of this uid, and as root the capabilities, as sshd needs them. Returns the home
// directory of the account.
envgen::Result<std::string> check_account(const envgen::Environ& env);

// sshd's own test of its configuration. Makes the directory for privilege separation that root's
// sshd misses; its path is in sshd's complaint, since it differs between distributions.
envgen::Status test_config(const Paths& paths, const std::string& sshd, const envgen::Environ& env,
                           const proc::SavedSignals& saved);

// Whether sshd could listen there.
envgen::Status check_port(int port);

}  // namespace sshd
