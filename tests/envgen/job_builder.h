#pragma once
// Snapshots of Ascend jobs for tests: a template 2 as ModelArts mounts it, and the variables of one
// of its pods.

#include <string>

#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"

namespace envgen {

inline constexpr const char* kTablePath = "/user/config/jobstart_hccl.json";

struct JobShape {
  int pods = 2;
  int devices = 8;
  int pods_per_host = 1;
};

// Pods are listed in reverse, and their hosts sort the other way round than their indices, so that
// every order that could be confused gives another result.
std::string template2(const JobShape& shape, const std::string& status = "completed");

// What the pod with index `pod` sees under ModelArts.
Snapshot modelarts_snapshot(const JobShape& shape, int pod);

Request request_for(std::vector<std::string> command);

}  // namespace envgen
