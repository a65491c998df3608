#pragma once
// `trainit peer end`: reports the end of the job to the workers, over ssh. A worker that does not
// answer is called again, after pauses that grow to two seconds. If the time is over, the caller
// ends this program with SIGTERM. So all calls start as early as they can, and each has a time-out.
//
// A node with a working link to this one receives the end over the link. Such a node is not called,
// because it may already have exited. A node that the link has lost is called once. It has probably
// failed; otherwise it ends by its own time-out.

#include <functional>
#include <set>
#include <string>

#include "base/environ.h"
#include "base/result.h"

namespace sshd {

struct LinkedHosts {
  std::set<std::string> told;  // hosts that receive the end over the link, or have exited
  std::set<std::string> lost;
};

struct EndOptions {
  std::string directory;   // absolute path of the peer's directory, whose copy of the key is used
  std::string hosts_file;  // one host a line
  int port = 0;
  std::string key;    // "": the client's default keys
  int exit_code = 0;  // exit code of the job, to report
  // Returns the state of the link now; empty if there is no link.
  std::function<LinkedHosts()> ask_link = {};
};

// Reports the end to all hosts. Blocks until each has answered or was given up, or until a stop
// signal. The error names the hosts that were not reached.
base::Status end(const EndOptions& options, const base::Environ& env);

}  // namespace sshd
