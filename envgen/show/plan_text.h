#pragma once
// A plan for people. The summary fits one screen: what the ranks share stands once, what differs in
// a table. The listing has every variable of every process.

#include <string>
#include <vector>

#include "base/environ.h"
#include "base/shown_lines.h"
#include "envgen/plan/plan.h"
#include "envgen/show/hook_notes.h"

namespace envgen {

// Returns all of a plan. `base` is the environment to which the edits are applied. Lines have any
// length.
base::ShownLines plan_listing(const Plan& plan, const base::Environ& base, const HookNotes& hooks);
// Returns the listing if nothing is known about the conditions of the hooks.
base::ShownLines plan_to_text(const Plan& plan, const base::Environ& base);

// Facts that the summary shows beside the plan.
struct SummaryFacts {
  std::vector<std::string> command;  // the user's
  std::string run_dir;               // trainit's own directory; "" = none
  HookNotes hooks;
};

// Returns the plan in lines of at most kColumns columns. Only a single word of the user's command
// can be longer.
base::ShownLines plan_summary(const Plan& plan, const base::Environ& base,
                              const SummaryFacts& facts);

}  // namespace envgen
