#pragma once
// The whole way of a job to its plan, over the platform that is detected.

#include <utility>

#include "envgen/resolve/resolve.h"
#include "tests/envgen/platform/platform_jobs.h"

namespace envgen::jobs {

// Resolves `snapshot`, and shows it what of `container` it asks for.
inline Outcome outcome_in(Snapshot snapshot, const Container& container, const Request& request) {
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    Answer answer = resolve(snapshot, request);
    if (answer.wants.empty()) return std::move(answer.outcome);
    for (const Want& want : answer.wants) {
      auto known = container.paths.find(want.path);
      snapshot.paths[want.path] = known == container.paths.end() ? PathState() : known->second;
    }
  }
  return base::Error{"planning", "", "no answer after many rounds", ""};
}

}  // namespace envgen::jobs
