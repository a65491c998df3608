#pragma once
// The claim of a node, which keeps a job from being started twice on the node. It is needed if no
// variable says that a launcher has started trainit more than once. Without the claim each trainit
// would start the same ranks, and all would end without an error.
//
// The claim is a socket in the abstract namespace (unix(7)), which belongs to a network namespace
// and disappears with its process. Its name is Plan::claim. If a job has no link to other nodes,
// its claim is compared within its PID namespace alone.

#include <optional>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/sys/fd.h"

namespace engine {

class NodeClaim {
 public:
  // Takes the claim of `plan`. Returns an error if a running trainit of the same user, or of root,
  // has it. Takes nothing if the plan has no claim, or if such a socket cannot be made.
  base::Status take(const envgen::Plan& plan);
  void release() { socket_.reset(); }

  // Returns the same error as take(), but takes nothing. Call it before anything on this node is
  // changed.
  static base::Status look(const envgen::Plan& plan);

 private:
  sys::Fd socket_;
};

}  // namespace engine
