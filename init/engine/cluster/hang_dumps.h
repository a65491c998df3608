#pragma once
// The transport of flight recorder dumps from each node to node 0. A look is one collection of the
// places of all ranks (lifecycle/hang_agent.h). For a look, the process that reads the dumps of a
// node's ranks leaves them in a file. The link's worker reads that file, and sends each dump in a
// frame before the report with the places. Node 0 keeps the dumps of the last look.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/failure/recorder_dump.h"

namespace engine {

// Returns RUN_DIR/recorder, or "" without a run directory.
std::string recorder_file(const std::string& run_dir);
// Writes the dumps to the file `path`, in place of those of an earlier look. Without dumps, deletes
// the file. An error is only logged.
void write_dumps(const std::string& path, const std::vector<envgen::RecorderDump>& dumps);
// Returns the payloads of the frames for `look`, one for each dump in the file `path`. Leaves out
// dumps that are too large for a frame.
std::vector<std::string> dump_payloads(const std::string& path, std::uint32_t look);

class HangDumps {
 public:
  // Adds a received dump. Returns false if `payload` is damaged. Ignores a dump of an earlier look,
  // or for which there is no room.
  bool add(std::string_view payload);
  // Returns the dumps of `look` if it is the last look, otherwise none.
  [[nodiscard]] std::span<const envgen::RecorderDump> of(std::uint32_t look) const;
  // Forgets all dumps, and the number of the last look.
  void clear();

 private:
  std::uint32_t look_ = 0;
  std::size_t bytes_ = 0;
  std::vector<envgen::RecorderDump> dumps_;
};

}  // namespace engine
