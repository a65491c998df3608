#pragma once
// Keeps a job from being started twice on one node where no variable says that a launcher started
// trainit more than once: each of them would start the same ranks, and all would end well.
//
// The claim is a socket in the abstract namespace (unix(7)), which belongs to a network namespace
// and goes with its process. Its name is Plan::claim. A job without a link to other nodes is
// compared within its PID namespace alone.

#include <optional>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/sys/fd.h"

namespace engine {

class NodeClaim {
 public:
  // An error if a running trainit of the same user, or of root, has the same claim. None is taken
  // for a plan without one, nor where such sockets cannot be made.
  envgen::Status take(const envgen::Plan& plan);
  void release() { socket_.reset(); }

  // The same error, and nothing is taken: before anything on this node is changed.
  static envgen::Status look(const envgen::Plan& plan);

 private:
  sys::Fd socket_;
};

}  // namespace engine
