#pragma once
// The child that prepares one dataset for a job. It finds or makes the copy (init/copy), and checks
// how the source is mounted. With --data-link it makes the link at the source point to the copy. It
// reports to PID 1.

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

// Does the work of the child. Sends its messages to `socket`, and returns its exit code.
int prepare_data(const DataOrder& order, int socket);

}  // namespace engine
