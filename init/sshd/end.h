#pragma once
// `trainit peer end`: tells the workers over ssh how the job ended. Its caller ends it when the
// time for that is over, so all calls start as early as they can and each is bounded.

#include <string>

#include "base/environ.h"
#include "base/result.h"

namespace peer {

struct EndOptions {
  std::string directory;   // absolute; its copy of the key is used
  std::string hosts_file;  // one host a line
  int port = 0;
  std::string key;    // "" = the client's default keys
  int exit_code = 0;  // to tell
};

// An error names the hosts that could not be told.
envgen::Status end(const EndOptions& options, const envgen::Environ& env);

}  // namespace peer
