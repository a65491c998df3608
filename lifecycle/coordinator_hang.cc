// The part of Coordinator that judges a hang, when the nodes have reported where their ranks are in
// their code. One collection of these places is a look.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "lifecycle/coordinator.h"

namespace lifecycle {

// Opens a look if the report has a higher look number than this coordinator knows. So a new
// Coordinator learns the number, and from `judged` whether that look is over.
void Coordinator::take_look(const NodeReport& report, TimeMs now) {
  // No job has so many looks, so a higher number is damaged.
  constexpr std::uint32_t kMaxLooks = 1U << 31U;
  if (report.look > kMaxLooks || report.judged > report.look) return;
  if (report.judged > look_) {
    look_ = report.judged;
    look_open_ = false;
    hang_.reset();
    changed();
  }
  if (report.look <= look_) return;
  look_ = report.look;
  look_since_ = now;
  look_open_ = settings_.judge_hang != nullptr;
  hang_.reset();
  changed();
}

// Judges the open look when all nodes have answered, or kLookMs after its begin. A node that runs
// no start, or is not connected, is not waited for.
void Coordinator::judge_hang(TimeMs now) {
  if (!look_open_) return;
  const auto answered = [this](const Node& node) {
    return node.report.look == look_ && !node.report.places.empty();
  };
  const auto awaited = [&answered](const Node& node) {
    return node.connected && !node.gone && !node.lost && !answered(node) &&
           node.report.stage == NodeReport::Stage::kRunning;
  };
  if (now < look_since_ + kLookMs && std::ranges::any_of(nodes_, awaited)) return;
  std::vector<NodeLook> looks;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (answered(nodes_[i])) looks.push_back({i, std::exchange(nodes_[i].report.places, {})});
  }
  hang_ = settings_.judge_hang(looks, look_, looks.size() == nodes_.size());
  hang_->look = look_;
  if (hang_->suspects.size() > kMaxSuspects) hang_->suspects.resize(kMaxSuspects);
  cut_text(hang_->text, kMaxHangBytes);
  look_open_ = false;
  changed();
}

}  // namespace lifecycle
