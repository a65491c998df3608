#pragma once
// What a plan says of warm restarts (--warm): beside each rank that a Python program is, a process
// stands by that has imported the program's modules, and becomes the rank at the next start.

#include <string>
#include <vector>

#include "base/fields.h"

namespace envgen {

// --warm auto: what the program imports at its top level, instead of a list.
inline constexpr std::string_view kWarmAuto = "auto";

// How one of Plan::processes can be warm.
struct WarmProcess {
  int operand = -1;     // the place of the script, or of the module, in its argv; -1: it cannot be
  bool module = false;  // python -m

  bool operator==(const WarmProcess&) const = default;
};
inline void fields(FieldVisitor& v, WarmProcess& process) {
  v("operand", process.operand);
  v("module", process.module);
}

struct WarmPlan {
  std::vector<std::string> modules;    // empty: nothing is kept warm; kWarmAuto alone
  std::vector<std::string> free;       // variables that may be others at the next start; '*' ends
  std::vector<WarmProcess> processes;  // of Plan::processes, by place
  std::string cold;                    // why one of them cannot be warm, "" = all can
  std::string directory;               // of the file that such a process loads

  bool operator==(const WarmPlan&) const = default;
};
inline void fields(FieldVisitor& v, WarmPlan& warm) {
  v("modules", warm.modules);
  v("free", warm.free);
  v("processes", warm.processes);
  v("cold", warm.cold);
  v("directory", warm.directory);
}

}  // namespace envgen
