#pragma once
// The bound of what the job keeps below RUN_DIR. The directories that trainit makes there for the
// job (errors, torchrun, stacks/dumps) belong to the job's user, and RUN_DIR may lie on a small
// file system that trainit's own state needs. A child looks at them every few seconds while the job
// runs. Above the bound it removes the largest files, then the newest. Only for a job of another
// user: a job of trainit's own user may write there anyway.

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

// Removes what `directories` have above `limit`, together; of files that a process of the job holds
// open without a name, the content. Returns a line about that, "" if nothing was removed. May
// block: for a child.
std::string bound_job_files(const std::vector<std::string>& directories, JobFilesLimit limit,
                            const std::optional<envgen::Identity>& job);

}  // namespace engine
