// Which hooks a plan says will run.

#include "envgen/show/hook_notes.h"

#include <gmock/gmock.h>

namespace envgen {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class Notes : public testing::Test {
 protected:
  void hook(const std::string& path, const std::string& condition,
            HookEvent event = HookEvent::kPreStart) {
    plan_.hooks.push_back({event, {path}, "", 1000, false});
    snapshot_.paths[path].content = "#!/bin/sh\n# trainit-when: " + condition + "\n";
  }
  void devices(std::vector<std::string> names) {
    PathState& state = snapshot_.paths[kDevicesDirectory];
    state.kind = PathState::Kind::kDirectory;
    state.entries = std::move(names);
    state.listed = true;
  }
  [[nodiscard]] HookNotes notes() const { return notes_of_hooks(plan_, snapshot_); }

  Plan plan_;
  Snapshot snapshot_;
};

TEST_F(Notes, FollowTheConditionAndTheHooksVariables) {
  plan_.hook_env = {{base::EnvEdit::Kind::kSet, "TRAINIT_NODE_COUNT", "2"}};
  devices({"null"});
  hook("/a", "devices ranks");
  hook("/b", "nodes devices");
  EXPECT_THAT(notes().idle, UnorderedElementsAre(Pair("/a", "devices ranks")));
  EXPECT_THAT(notes().when, UnorderedElementsAre(Pair("/b", "nodes devices")));
  devices({"nvidia0"});
  EXPECT_THAT(notes().idle, IsEmpty());
}

// What only the start can decide counts as true.
TEST_F(Notes, KeepWhatIsNotKnownYet) {
  hook("/a", "devices");
  EXPECT_THAT(notes().idle, IsEmpty()) << "nobody has looked at /dev";
  devices({});
  EXPECT_THAT(notes().idle, UnorderedElementsAre(Pair("/a", "devices")));
  hook("/b", "WANTED");
  EXPECT_THAT(notes().idle, UnorderedElementsAre(Pair("/a", "devices"), Pair("/b", "WANTED")));
  plan_.hooks.clear();
  plan_.hooks.push_back({HookEvent::kPreStart, {"/always"}, "", 1000, false});
  hook("/b", "WANTED");
  EXPECT_THAT(notes().idle, IsEmpty()) << "a hook before it may export the variable";
}

TEST_F(Notes, KnowEventsThatNeedAWatch) {
  EXPECT_FALSE(can_happen(plan_, HookEvent::kStall));
  EXPECT_FALSE(can_happen(plan_, HookEvent::kHealth));
  EXPECT_TRUE(can_happen(plan_, HookEvent::kOnFailure));
  plan_.observe.stall_ms = 1;
  plan_.observe.health_interval_ms = 1;
  EXPECT_TRUE(can_happen(plan_, HookEvent::kStall));
  EXPECT_TRUE(can_happen(plan_, HookEvent::kHealth));
}

}  // namespace
}  // namespace envgen
