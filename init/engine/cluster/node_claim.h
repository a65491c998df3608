#pragma once
// The claim on a node, which prevents that a job is started twice on it. A launcher may start
// trainit several times on a node without any variable that says so. Then each trainit would start
// the same ranks, and all would end without an error.
//
// The claim is a socket in the abstract namespace (unix(7)), which belongs to a network namespace
// and disappears with its process. Its name is Plan::claim. If a job has no link to other nodes,
// only claims in the same PID namespace conflict.

#include <optional>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/sys/fd.h"

namespace engine {

class NodeClaim {
 public:
  // Takes the claim of `plan`. Returns an Error if a running trainit of the same user, or of root,
  // has it. Does nothing if the plan has no claim, or if such a socket cannot be created.
  base::Status take(const envgen::Plan& plan);
  void release() { socket_.reset(); }

  // Returns the Error that take() would return, but does not take the claim. Call it before
  // anything on this node is changed.
  static base::Status look(const envgen::Plan& plan);

 private:
  sys::Fd socket_;
};

}  // namespace engine
