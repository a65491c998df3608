#pragma once
// `trainit peer end`: reports over ssh to the workers how the job ended. A worker that does not
// answer is called again, with pauses that grow to two seconds. The caller ends this program by
// SIGTERM when the time is over. So all calls start as early as they can, and each is bounded.
//
// A node with a working link to this one gets the end through the link. Such a node is not called,
// because it may have exited by then. A node that the link has lost is called once. Most likely it
// has failed; if not, it ends automatically.

#include <functional>
#include <set>
#include <string>

#include "base/environ.h"
#include "base/result.h"

namespace sshd {

struct LinkedHosts {
  std::set<std::string> told;  // get the end by the link, or have exited
  std::set<std::string> lost;
};

struct EndOptions {
  std::string directory;   // absolute path; its copy of the key is used
  std::string hosts_file;  // one host a line
  int port = 0;
  std::string key;    // "": the client's default keys
  int exit_code = 0;  // exit code to report
  // Asks for the present state of the link; empty without a link.
  std::function<LinkedHosts()> ask_link = {};
};

// Reports the end to all hosts; blocks until each has answered, was given up, or a stop signal
// came. An Error names the hosts that were not reached.
base::Status end(const EndOptions& options, const base::Environ& env);

}  // namespace sshd
