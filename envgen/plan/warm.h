#pragma once
// The part of a plan for warm restarts (--warm). Each rank that is a Python program gets a spare
// process, which has imported the program's modules and becomes the rank at the next start.

#include <string>
#include <vector>

#include "base/fields.h"

namespace envgen {

// The value of --warm that makes a spare import what the program imports at its top level.
inline constexpr std::string_view kWarmAuto = "auto";

// The needs of a spare of a process in Plan::processes.
struct WarmProcess {
  int operand = -1;     // index of the script or module in argv; -1 = no spare is possible
  bool module = false;  // the operand is the module of `python -m`

  bool operator==(const WarmProcess&) const = default;
};
inline void fields(base::FieldVisitor& v, WarmProcess& process) {
  v("operand", process.operand);
  v("module", process.module);
}

struct WarmPlan {
  std::vector<std::string> modules;  // modules to import, or only kWarmAuto; empty = no warm
                                     // restarts
  std::vector<std::string> free;  // names of variables, or "PREFIX*", that may differ at the next
                                  // start
  std::vector<WarmProcess> processes;  // in the order of Plan::processes
  std::string cold;                    // why one of the processes can have no spare; "" = all can
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
