#pragma once
// The watch whether a rank still writes to files after a failure of the job. Such a rank may be
// saving, so the machine moves its KILL (event::TaskWrites). A forked worker reads /proc, because a
// read of /proc/PID/io waits for a process that executes a program. It sends a message for each
// look. If the messages stop, it is not known what the ranks write, and they keep the whole grace.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

// The bytes that each process has written, by pid: with system calls, and to disks from mapped
// files. nullopt: trainit cannot know, because the kernel shows no numbers, or because the process
// is in state D, perhaps in a write to a file system that does not answer.
using Written = std::map<pid_t, std::optional<std::uint64_t>>;

// Parses the text of /proc/PID/io. Returns wchar + write_bytes; nullopt for any other text.
std::optional<std::uint64_t> written_bytes(std::string_view io);
// Returns what `mains` and all processes below them have written.
Written written_below(const std::vector<pid_t>& mains);
// Returns whether a process wrote more between two looks than a rank prints in that time, or may
// have done so. A process whose numbers are unknown may always have done so.
bool has_written(const Written& before, const Written& now);

class WriteWatch : public ChildWorker {
 public:
  explicit WriteWatch(const WorkerContext& context);
  void stepped() override;
  void tend(std::int64_t now_ms) override;

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;
  void on_overdue() override;

  // Tells the machine that it is not known what the ranks write.
  void give_up();
  void await_look();

  const WorkerContext& context_;
};

}  // namespace engine
