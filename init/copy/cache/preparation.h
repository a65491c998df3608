#pragma once
// A job's request for the copy of a dataset, and the answer to the request.

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

// A dataset whose copy can be read.
struct Prepared {
  std::string path;
  sys::Fd lease;    // shared lock: the copy is not deleted while this is open
  std::string how;  // for a person: "copied", "found", "waited for another job's copy"
  TreeSize size;
  std::vector<std::string> warnings;
};

// The state of a preparation. It is reported several times a second.
struct Report {
  // counters of the copy, which may be another job's; nullptr: unknown
  const Counters* counters = nullptr;
  bool waiting = false;  // this job waits until another job has made the copy
};

struct Preparation {
  envgen::Dataset dataset;
  envgen::DataRequest request;
  std::optional<Owner> owner;  // owner of the copy: the job's user, if that is not trainit's
  const envgen::Identity* job_user = nullptr;  // the job's user, if that is not trainit's;
                                               // otherwise nullptr
  std::function<void(const Report&)> report = {};
};

}  // namespace copy
