#include "init/engine/collect.h"

#include "init/sys/files.h"

namespace engine {
namespace {

// A resolution asks for the table's place, the table, then the arguments: three rounds.
constexpr int kMostRounds = 16;

}  // namespace

envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request) {
  envgen::Answer answer;
  for (int round = 0; round < kMostRounds; ++round) {
    answer = envgen::resolve(snapshot, request);
    if (answer.wants.empty()) return answer;
    for (const envgen::Want& want : answer.wants) {
      envgen::PathState state = sys::look(want.path, want.content);
      // What was read is what counts: a file that shrinks meanwhile must not be wanted forever.
      if (want.content && state.kind == envgen::PathState::Kind::kFile) {
        state.size_bytes = state.content.size();
      }
      snapshot.paths[want.path] = std::move(state);
    }
  }
  answer.outcome = envgen::Error{"resolving the job", "", "a resolution that never ends",
                                 "this is a defect of trainit: report it with `trainit snapshot`"};
  return answer;
}

}  // namespace engine
