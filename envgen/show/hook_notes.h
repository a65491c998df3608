#pragma once
// Which hooks of a plan run on this node, as far as their texts and the environment say so before
// the start.

#include <map>
#include <string>

#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace envgen {

// The directory whose names decide the condition "devices".
inline constexpr const char* kDevicesDirectory = "/dev";

// Conditions of hooks by path, as their texts state them: "nodes devices NAME". A hook without a
// condition, or whose text is not known, is in neither map.
struct HookNotes {
  std::map<std::string, std::string> when;  // a word holds, or may hold at the start
  std::map<std::string, std::string> idle;  // no word holds: the hook does not run
};

// Returns the notes of `plan.hooks`. `snapshot.paths` has the beginnings of the hooks and the names
// in kDevicesDirectory. A condition that only the start can decide counts as one that may hold.
HookNotes notes_of_hooks(const Plan& plan, const Snapshot& snapshot);

// Returns false for an event that never happens in a job with this plan, because nothing watches
// for it.
bool can_happen(const Plan& plan, HookEvent event);

}  // namespace envgen
