#pragma once
// Stacks, taken and judged in a worker of their own: whoever has started it is told the verdict,
// and the whole of it lies in files for people.

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
  std::vector<std::uint32_t> suspects;  // places in the plan; none: the cause is not known
  std::string text;                     // a sentence
  std::string places;                   // envgen::encode_places, for node 0
  std::string notes;                    // the part of `text` that RAS knows

  bool operator==(const StackMessage&) const = default;
};
inline void fields(envgen::FieldVisitor& v, StackMessage& message) {
  v("suspects", message.suspects);
  v("text", message.text);
  v("places", message.places);
  v("notes", message.notes);
}

class StackJob : public ChildWorker {
 public:
  StackJob();

  // `files`: where the whole of it goes, as .txt and .json; "" = nowhere.
  envgen::Status start(const StackOrder& order, const std::string& files,
                       const proc::SavedSignals& saved);
  // What it has said, once; nothing where it has failed or still runs.
  std::optional<StackMessage> take() { return std::exchange(news_, std::nullopt); }

 protected:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_overdue() override;

 private:
  std::optional<StackMessage> news_;
};

// RUN_DIR/stacks: the hook, the dumps, what was taken last.
std::string stacks_directory(const std::string& run_dir);
// The job's main processes as they are now.
StackOrder stack_order(const Job& job, const std::string& run_dir);

}  // namespace engine
