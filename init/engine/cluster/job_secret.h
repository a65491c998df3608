#pragma once
// The secret by which the nodes of a job recognize each other: the file of --job-secret, otherwise
// that of --ssh-key. trainit reads it with its own rights, so no other user may choose its content.
// Reading can hang on a dead mount, so only a child does it.

#include <string>

#include "base/result.h"
#include "envgen/plan/request.h"
#include "envgen/plan/sandbox.h"

namespace engine {

struct JobSecret {
  std::string bytes;  // 16 to 65,536 bytes, without newlines at their end; "": no secret
  // Why the file of --ssh-key is not used, or that too many users can read the secret; "": none.
  std::string warning;
};

// Returns the secret, or an error if the file of --job-secret cannot be used. The file of --ssh-key
// has another purpose: if it cannot be used, returns a warning and no secret. Can block.
base::Result<JobSecret> read_job_secret(const envgen::Request& request,
                                        const envgen::Identity* job_user);

}  // namespace engine
