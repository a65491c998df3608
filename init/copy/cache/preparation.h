#pragma once
// A job's request for a dataset, and the answer to it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/dataset.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/progress.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// A dataset, ready to be read.
struct Prepared {
  std::string path;
  sys::Fd lease;    // shared lock: the copy stays while this is open
  std::string how;  // "copied", "found", "waited for another job's copy": for a person
  TreeSize size;
  std::vector<std::string> warnings;
};

// The state of a preparation, reported several times a second.
struct Report {
  const Counters* counters =
      nullptr;           // counters of the copy, also of another job's; nullptr: unknown
  bool waiting = false;  // this job waits for another one
};

struct Preparation {
  envgen::Dataset dataset;
  envgen::DataRequest request;
  std::optional<Owner> owner;                  // the job's user, where that is another one
  const envgen::Identity* job_user = nullptr;  // the same
  std::function<void(const Report&)> report = {};
};

}  // namespace copy
