#pragma once
// The keys of a peer: its host key, the private key that all nodes share, and who may log in.

#include <string>

#include "base/environ.h"
#include "base/result.h"
#include "init/proc/signals.h"
#include "init/sshd/config.h"

namespace sshd {

struct KeyTools {
  std::string ssh_keygen;  // absolute
  envgen::Environ env;
  proc::SavedSignals saved;
};

// Keeps a host key that can be read (a second start), else makes one.
envgen::Status make_host_key(const Paths& paths, const KeyTools& tools);

// Copies `file` to paths.key with mode 0600. A mounted secret is 0644 or a foreign user's, which
// the ssh client refuses, and was often pasted: line ends are mended.
envgen::Status copy_key(const Paths& paths, const std::string& file);

// Writes paths.authorized_keys, the only file that sshd looks at: the public half of paths.key when
// `with_key`, else those of the client's default keys, `home`/.ssh/id_*; and what stands in
// `home`/.ssh/authorized_keys. What others may write decides nothing. An error when nobody could
// log in.
envgen::Status authorize(const Paths& paths, const KeyTools& tools, bool with_key,
                         const std::string& home);

}  // namespace sshd
