#pragma once
// The child that prepares one dataset for a job: it finds or makes the copy (init/copy), looks at
// the source's mount, replaces its link where asked to, and tells PID 1 of it.

#include <cstdint>
#include <string>

#include "envgen/plan/dataset.h"
#include "envgen/plan/request.h"
#include "init/proc/signals.h"

namespace engine {

struct DataOrder {
  envgen::Dataset dataset;
  const envgen::Request& request;
  proc::SavedSignals saved;
};

// The child's work; `socket`: where the news go. Returns its exit code.
int prepare_data(const DataOrder& order, int socket);

}  // namespace engine
