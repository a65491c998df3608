#include "envgen/show/hook_notes.h"

#include <string_view>

#include "base/hook_condition.h"
#include "base/text.h"

namespace envgen {
namespace {

// Returns the words of the condition in the second line of a hook; "" without one.
std::string_view condition_in(std::string_view head) {
  base::take_line(head);
  std::string_view line = base::take_line(head);
  constexpr std::string_view kKey = hook_condition::kKey;
  if (!line.starts_with(kKey)) return {};
  line.remove_prefix(kKey.size());
  return base::trimmed(line);
}

class Conditions {
 public:
  Conditions(const Plan& plan, const Snapshot& snapshot)
      : snapshot_(snapshot), env_(snapshot.env), exported_(!plan.scripts.empty()) {
    for (const base::EnvEdit& edit : plan.env) env_.apply(edit);
    for (const base::EnvEdit& edit : plan.hook_env) env_.apply(edit);
  }

  [[nodiscard]] bool hold(const std::string& head) const {
    return hook_condition::applies(
        head.data(), static_cast<long>(head.size()),
        [this](auto need, const auto& word) { return holds(need, word); });
  }
  // A hook that runs may export any variable to the later ones.
  void note_exports() { exported_ = true; }

 private:
  [[nodiscard]] bool holds(hook_condition::Need need, const hook_condition::Word& word) const {
    const bool is_variable = need == hook_condition::Need::kVariable;
    if (is_variable && (exported_ || hook_condition::is_given(word))) return true;
    return hook_condition::holds(need, word, env_, [this] { return may_have_devices(); });
  }

  // True also if the directory was not listed.
  [[nodiscard]] bool may_have_devices() const {
    const auto found = snapshot_.paths.find(kDevicesDirectory);
    if (found == snapshot_.paths.end() || !found->second.listed) return true;
    return hook_condition::has_device(found->second.entries);
  }

  const Snapshot& snapshot_;
  base::Environ env_;
  bool exported_;  // variables may be set that are not known here
};

}  // namespace

HookNotes notes_of_hooks(const Plan& plan, const Snapshot& snapshot) {
  HookNotes notes;
  Conditions conditions(plan, snapshot);
  for (const HookGroup& group : plan.hooks) {
    for (const std::string& path : group.paths) {
      const auto found = snapshot.paths.find(path);
      std::string_view head;
      if (found != snapshot.paths.end() && path != group.script) head = found->second.content;
      head = head.substr(0, hook_condition::kMaxBytes);
      const bool runs = conditions.hold(std::string(head));
      if (runs && group.event == HookEvent::kPreStart) conditions.note_exports();
      const std::string_view condition = condition_in(head);
      if (!condition.empty()) (runs ? notes.when : notes.idle).emplace(path, condition);
    }
  }
  return notes;
}

bool can_happen(const Plan& plan, HookEvent event) {
  if (event == HookEvent::kStall) return plan.observe.stall_ms > 0;
  if (event == HookEvent::kHealth) return plan.observe.health_interval_ms > 0;
  return true;
}

}  // namespace envgen
