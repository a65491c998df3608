#pragma once
// The limit on the files that the job creates below RUN_DIR. trainit makes directories there for
// the job (errors, torchrun, stacks/dumps), which belong to the job's user. But RUN_DIR may be on a
// small file system that trainit's own state needs. So while the job runs, a child checks these
// directories every few seconds. Above the limit it removes the largest files, then the newest. A
// job of trainit's own user is not limited, because that user may write there anyway.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

class JobFiles : public ChildWorker {
 public:
  explicit JobFiles(const WorkerContext& context);

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  void stepped() override;

 private:
  Heard on_message(std::uint32_t kind, std::string_view text) override;

  const WorkerContext& context_;
  std::optional<std::int64_t> next_look_ms_;
  bool told_ = false;
};

struct JobFilesLimit {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};
// Returns the limit for the file system of `directory`: a quarter of it, at most 64 MiB and 16,384
// files.
JobFilesLimit job_files_limit(const std::string& directory);

// Removes files from `directories` until all together keep `limit`. Also truncates files that were
// deleted there but that a process of the job holds open. Returns a line about the removal; "" if
// nothing was removed. Blocks on slow file systems, so it is called in a child.
std::string bound_job_files(const std::vector<std::string>& directories, JobFilesLimit limit,
                            const std::optional<envgen::Identity>& job);

}  // namespace engine
