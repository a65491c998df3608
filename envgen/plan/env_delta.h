#pragma once
// The changes that a plan's edits make to the environment of its processes, with credentials
// masked, for the printed forms of a plan.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/secrets/secrets.h"

namespace envgen {

// The variables that the edits set, with their final values, and those that they remove.
struct EnvDelta {
  std::map<std::string, std::string> set;
  std::set<std::string> unset;
};

// Computes the changes for each process of a plan. The edits that all processes share are applied
// only once.
class Deltas {
 public:
  // `shared` and `base` must outlive the object.
  Deltas(const std::vector<base::EnvEdit>& shared, const base::Environ& base);

  // Returns the changes by the shared edits followed by `own`, the edits of one process.
  EnvDelta of(const std::vector<base::EnvEdit>& own);

 private:
  void note(const std::string& name, const base::Environ& edited, EnvDelta& delta);

  const std::vector<base::EnvEdit>& shared_;
  const base::Environ& base_;
  base::Environ common_;
  base::EntryMask mask_;
};

}  // namespace envgen
