#pragma once
// `trainit peer end`: tells the workers over ssh how the job ended. Who does not answer is called
// again and again, with pauses that grow to two seconds: its caller ends it by SIGTERM when the
// time for that is over. So all calls start as early as they can, and each is bounded.
//
// A node whose link to this one holds hears the end by that: it is not called, as it may have ended
// when a call would come. One that the link has lost is called once: most likely it is gone, and
// where it is not it ends by itself.

#include <functional>
#include <set>
#include <string>

#include "base/environ.h"
#include "base/result.h"

namespace sshd {

struct LinkedHosts {
  std::set<std::string> told;  // that hear the end by the link, or have ended
  std::set<std::string> lost;
};

struct EndOptions {
  std::string directory;   // absolute; its copy of the key is used
  std::string hosts_file;  // one host a line
  int port = 0;
  std::string key;                             // "" = the client's default keys
  int exit_code = 0;                           // to tell
  std::function<LinkedHosts()> ask_link = {};  // how it is now; none: there is no link
};

// An error names the hosts that could not be told.
envgen::Status end(const EndOptions& options, const envgen::Environ& env);

}  // namespace sshd
