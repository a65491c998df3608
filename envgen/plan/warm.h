#pragma once
// The part of a plan for warm restarts (--warm). Each rank that is a Python program gets a spare
// process, which has imported the program's modules and becomes the rank at the next start.

#include <string>
#include <vector>

#include "base/fields.h"

namespace envgen {

// --warm auto: import what the program imports at its top level, instead of a list.
inline constexpr std::string_view kWarmAuto = "auto";

// The data for a spare of one of Plan::processes.
struct WarmProcess {
  int operand = -1;     // index of the script or module in its argv; -1 = cannot be warm
  bool module = false;  // python -m

  bool operator==(const WarmProcess&) const = default;
};
inline void fields(base::FieldVisitor& v, WarmProcess& process) {
  v("operand", process.operand);
  v("module", process.module);
}

struct WarmPlan {
  std::vector<std::string> modules;    // to import, or kWarmAuto alone; empty = no warm restarts
  std::vector<std::string> free;       // names or "PREFIX*" that may differ at the next start
  std::vector<WarmProcess> processes;  // by index in Plan::processes
  std::string cold;                    // reason why one process cannot be warm; "" = all can
  std::string directory;               // directory of the file that a spare loads

  bool operator==(const WarmPlan&) const = default;
};
inline void fields(base::FieldVisitor& v, WarmPlan& warm) {
  v("modules", warm.modules);
  v("free", warm.free);
  v("processes", warm.processes);
  v("cold", warm.cold);
  v("directory", warm.directory);
}

}  // namespace envgen
