#pragma once
// The processes of a node side by side: what all of them get, what each gets by a pattern, and the
// rest as a table with a row for each process.

#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/plan.h"
#include "envgen/show/columns.h"

namespace envgen {

struct ProcessTable {
  std::vector<std::string> shared;    // "NAME=value" of all processes, related names together
  std::vector<std::string> patterns;  // "RANK 0-7"
  std::vector<std::string> unset;     // names
  std::string settings;               // counted instead of shown; "" = all are shown
  std::vector<Column> columns;        // none for a single process
  std::string cpus_reason;            // for the columns of CPUs; "..." where it differs
  std::string log_directory;  // of the files in the column of the output; "" = none in common
};

// Requires a plan with processes.
ProcessTable table_of(const Plan& plan, const base::Environ& base);

// Returns the output of a process: "stdout and stderr", a file, or both.
std::string output_of(const Process& process);

}  // namespace envgen
