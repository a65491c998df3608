#pragma once
// Small files from a file system that takes a fixed time for each call, as one on the network does.

#include <string>

#include "tests/bench/topics.h"

namespace bench {

// Compares trainit copy with find | xargs cp and rclone, for several latencies. `memory`: a tmpfs.
void measure_latency(const Field& field, const std::string& memory);

}  // namespace bench
