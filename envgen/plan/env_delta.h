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
  Deltas(const std::vector<base::EnvEdit>& shared, const base::Environ& base);

  // Returns the effect of the shared edits and of a process's own ones.
  EnvDelta of(const std::vector<base::EnvEdit>& own);

 private:
  void note(const std::string& name, const base::Environ& edited, EnvDelta& delta);

  const std::vector<base::EnvEdit>& shared_;
  const base::Environ& base_;
  base::Environ common_;
  base::EntryMask mask_;
};

}  // namespace envgen
