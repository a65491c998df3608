#pragma once
// The keys of a peer: its host key, the private key that all nodes share, and the keys that may log
// in.

#include <string>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"

namespace sshd {

struct KeyTools {
  std::string ssh_keygen;  // absolute path
  base::Environ env;
  proc::SavedSignals saved;
};

// Makes a host key. A readable key of an earlier start is kept.
base::Status make_host_key(const Paths& paths, const KeyTools& tools);

// Copies `file` to paths.key with mode 0600 and Unix line ends. The ssh client refuses a mounted
// secret with mode 0644 or of another user. Secrets were often pasted, and then have other line
// ends.
base::Status copy_key(const Paths& paths, const std::string& file);

// Writes paths.authorized_keys, the only file with keys that sshd reads. With `with_key`, it
// contains the public half of paths.key. Otherwise it contains those of the client's default keys,
// `home`/.ssh/id_*. The content of `home`/.ssh/authorized_keys is added. Files that other users can
// write are ignored. Fails if no key could log in.
base::Status authorize(const Paths& paths, const KeyTools& tools, bool with_key,
                       const std::string& home);

}  // namespace sshd
