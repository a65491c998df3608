#include "envgen/plan/env_delta.h"

namespace envgen {

Deltas::Deltas(const std::vector<base::EnvEdit>& shared, const base::Environ& base)
    : shared_(shared), base_(base), common_(base) {
  for (const base::EnvEdit& edit : shared) common_.apply(edit);
}

EnvDelta Deltas::of(const std::vector<base::EnvEdit>& own) {
  base::Environ edited = common_;
  for (const base::EnvEdit& edit : own) edited.apply(edit);
  EnvDelta delta;
  for (const base::EnvEdit& edit : shared_) note(edit.name, edited, delta);
  for (const base::EnvEdit& edit : own) note(edit.name, edited, delta);
  return delta;
}

void Deltas::note(const std::string& name, const base::Environ& edited, EnvDelta& delta) {
  auto before = base_.get(name);
  auto after = edited.get(name);
  if (before && !after) delta.unset.insert(name);
  if (!after || before == after) return;
  const std::string& masked = mask_.of(name + "=" + std::string(*after));
  delta.set[name] = masked.substr(name.size() + 1);
}

}  // namespace envgen
