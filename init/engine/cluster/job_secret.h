#pragma once
// The secret by which the nodes of a job know each other: the file of --job-secret, else that of
// --ssh-key. It is read with trainit's rights, so nobody else may decide what it is. May hang on a
// dead mount: for a child.

#include <string>

#include "base/result.h"
#include "envgen/plan/request.h"
#include "envgen/plan/sandbox.h"

namespace engine {

struct JobSecret {
  std::string bytes;    // 16 to 65,536, without the newlines at their end; "" = there is none
  std::string warning;  // that more can read it than should; why the file of --ssh-key is none
};

// What is wrong with the file of --job-secret is an Error. That of --ssh-key was given for
// something else: where it cannot be used, there is no secret, and a warning.
envgen::Result<JobSecret> read_job_secret(const envgen::Request& request,
                                          const envgen::Identity* job_user);

}  // namespace engine
