#pragma once
// The effect of a plan's edits on the environment of its processes, with credentials masked, for
// the printed forms of a plan.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/secrets/secrets.h"

namespace envgen {

// Names with final values, and removed names.
struct EnvDelta {
  std::map<std::string, std::string> set;
  std::set<std::string> unset;
};

// Computes the deltas of a plan's processes. The edits that the processes share are applied once.
class Deltas {
 public:
  // `shared` and `base` must outlive the object.
  Deltas(const std::vector<EnvEdit>& shared, const Environ& base);

  // Returns the effect of the shared edits and of a process's own ones.
  EnvDelta of(const std::vector<EnvEdit>& own);

 private:
  void note(const std::string& name, const Environ& edited, EnvDelta& delta);

  const std::vector<EnvEdit>& shared_;
  const Environ& base_;
  Environ common_;
  EntryMask mask_;
};

}  // namespace envgen
