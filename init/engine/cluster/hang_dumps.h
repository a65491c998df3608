#pragma once
// Dumps of flight recorders on their way to node 0: whoever has read the dumps of a node's ranks
// leaves them in a file for the link's worker, which sends each in a frame ahead of the report with
// the ranks' places; node 0 keeps those of the last look.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/recorder_dump.h"

namespace engine {

// RUN_DIR/recorder; "" without a run directory.
std::string recorder_file(const std::string& run_dir);
// Replaces what an earlier look has left there. A failure is a warning.
void write_dumps(const std::string& path, const std::vector<envgen::RecorderDump>& dumps);
// Returns the payloads of the frames. Leaves out dumps that are too large for a frame.
std::vector<std::string> dump_payloads(const std::string& path, std::uint32_t look);

class HangDumps {
 public:
  // False: damaged. Ignores dumps of an earlier look, and those for which there is no room.
  bool add(std::string_view payload);
  // Returns the dumps of that look.
  [[nodiscard]] std::span<const envgen::RecorderDump> of(std::uint32_t look) const;
  // Forgets all, also which look was the last.
  void clear();

 private:
  std::uint32_t look_ = 0;
  std::size_t bytes_ = 0;
  std::vector<envgen::RecorderDump> dumps_;
};

}  // namespace engine
