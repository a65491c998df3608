#pragma once
// The dumps of flight recorders, which each node sends to node 0. A process that has read the dumps
// of a node's ranks leaves them in a file for the link's worker. The worker sends each dump in a
// frame before the report with the ranks' places. Node 0 keeps the dumps of the last look, which is
// one collection of the places of all ranks.

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
// Replaces the dumps that an earlier look has left there. A failure is a warning.
void write_dumps(const std::string& path, const std::vector<envgen::RecorderDump>& dumps);
// Returns the payloads of the frames. Leaves out dumps that are too large for a frame.
std::vector<std::string> dump_payloads(const std::string& path, std::uint32_t look);

class HangDumps {
 public:
  // Returns false if `payload` is damaged. Ignores dumps of an earlier look, and dumps for which
  // there is no room.
  bool add(std::string_view payload);
  // Returns the dumps of `look`, if that was the last one.
  [[nodiscard]] std::span<const envgen::RecorderDump> of(std::uint32_t look) const;
  // Forgets all dumps, and the number of the last look.
  void clear();

 private:
  std::uint32_t look_ = 0;
  std::size_t bytes_ = 0;
  std::vector<envgen::RecorderDump> dumps_;
};

}  // namespace engine
