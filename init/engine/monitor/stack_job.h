#pragma once
// A worker that takes the stacks of the job's processes and judges which ranks the others wait for.
// The job sends its owner the verdict, and writes the full result to files for people.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "init/engine/monitor/stack_taker.h"
#include "init/engine/tasks/job.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"
#include "lifecycle/machine.h"

namespace engine {

struct StackMessage {
  std::vector<std::uint32_t> suspects;  // indices in the plan; empty: the cause is not known
  std::string text;                     // the verdict as a sentence
  std::string places;  // encoded places of the ranks (envgen::encode_places), for node 0
  std::string notes;   // the part of `text` from RAS

  bool operator==(const StackMessage&) const = default;
};
inline void fields(base::FieldVisitor& v, StackMessage& message) {
  v("suspects", message.suspects);
  v("text", message.text);
  v("places", message.places);
  v("notes", message.notes);
}

class StackJob : public ChildWorker {
 public:
  StackJob();

  // Starts the worker. `files`: path of the full result, without .txt and .json; "": no files.
  base::Status start(const StackOrder& order, const std::string& files,
                     const proc::SavedSignals& saved);
  // Returns the worker's message, once. Returns nullopt if the worker failed or has not sent it
  // yet.
  std::optional<StackMessage> take() { return std::exchange(news_, std::nullopt); }

 protected:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_overdue() override;

 private:
  std::optional<StackMessage> news_;
};

// Returns RUN_DIR/stacks, the directory of the Python hook, the dumps and the last stacks.
std::string stacks_directory(const std::string& run_dir);
// Returns an order for the job's main processes as they are now.
StackOrder stack_order(const Job& job, const std::string& run_dir);

}  // namespace engine
