#pragma once
// The watch whether a rank still writes to files after a failure of the job. Such a rank may be
// saving, so the machine moves its KILL (event::TaskWrites). A forked worker reads /proc, because a
// read of /proc/PID/io waits for a process that executes a program.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

// The bytes that each process has written with system calls, by pid. nullopt: the kernel denies
// access, so trainit cannot know.
using Written = std::map<pid_t, std::optional<std::uint64_t>>;

// Parses the text of /proc/PID/io. Returns nullopt for any other text.
std::optional<std::uint64_t> written_bytes(std::string_view io);
// Returns what `mains` and all processes below them have written.
Written written_below(const std::vector<pid_t>& mains);
// Returns whether a process wrote more between two looks than a rank prints in that time, or may
// have done so.
bool has_written(const Written& before, const Written& now);

class WriteWatch : public ChildWorker {
 public:
  explicit WriteWatch(const WorkerContext& context);
  void stepped() override;

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;

  const WorkerContext& context_;
};

}  // namespace engine
