#include "tests/sim/nodes_world.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>

#include "lifecycle/link_watch.h"

namespace sim {
namespace {

using What = NodeFault::What;
using lifecycle::Coordinator;
using lifecycle::LinkWatch;
using Stage = NodeReport::Stage;
using State = NodeVerdict::State;

constexpr std::uint64_t kFirstList = 42;
constexpr TimeMs kQuietMs = 120'000;   // until all that follows from a fault has followed
constexpr TimeMs kConnectedMs = 1000;  // all nodes are, where nothing happens to them
constexpr TimeMs kThrottleMs = 1000;   // a throttled container stands still between two steps
constexpr TimeMs kStallMs = 2000;      // without progress, until a watch sees it
constexpr TimeMs kLingerMs = 4000;     // of node 0's link, after its node has ended

struct Connection {
  std::uint32_t node = 0;
  std::uint32_t instance = 0;
  std::uint64_t cluster = 0;  // the list by which it was made
  bool up = false;            // as the node sees it
  bool serves = false;        // as node 0 sees it
  bool cut = false;           // nothing is delivered any more
  TimeMs up_at = 0;           // the last delivery to node 0
  TimeMs down_at = 0;         // the last delivery to the node
  std::optional<NodeVerdict> said;
  bool met = false;  // node 0 has heard who it is
};
using Link = std::shared_ptr<Connection>;

class NodesWorld {
 public:
  NodesWorld(const NodesScenario& scenario, bool trace);
  NodesOutcome run();

 private:
  // What happens in a process of a container, unless that has died; it waits while it stands still.
  struct Item {
    TimeMs at = 0;
    int rank = 0;  // at one time: what has come before what is late
    std::uint64_t order = 0;
    std::uint32_t where = 0;
    std::function<void()> happens;
    bool operator<(const Item& other) const {
      return std::tie(other.at, other.rank, other.order) < std::tie(at, rank, order);
    }
  };
  struct Box {  // a container
    std::uint32_t instance = 1;
    std::uint64_t list = kFirstList;
    std::uint32_t links = 0;  // that were made: with each instance and each list another one
    bool alive = true;
    TimeMs paused_until = 0;
    TimeMs throttled_until = 0;
    TimeMs woke_at = -1;  // throttled: everything that is due now still happens
    TimeMs mute_up_until = 0;
    TimeMs mute_down_until = 0;
    bool was_lost = false;  // while it took part in a start, ever
    bool vanished = false;
    bool known = false;
    std::unique_ptr<Member> node;
    std::unique_ptr<LinkWatch> watch;
    Link link;
    std::optional<NodeReport> sent;
    std::uint64_t timer = 0;  // the one that is meant
    std::uint64_t watching = 0;
  };

  void at(TimeMs when, std::uint32_t where, int rank, std::function<void()> happens) {
    items_.push({when, rank, ++order_, where, std::move(happens)});
  }
  // In this instance of a container.
  void later(TimeMs delay, std::uint32_t where, int rank, std::function<void()> happens) {
    at(now_ + delay, where, rank,
       [this, where, instance = boxes_[where].instance, happens = std::move(happens)] {
         if (boxes_[where].alive && boxes_[where].instance == instance) happens();
       });
  }
  TimeMs draw(TimeMs least, TimeMs most) {
    return std::uniform_int_distribution<TimeMs>(least, most)(random_);
  }
  TimeMs delay() { return draw(0, scenario_.most_delay_ms); }
  // Between node 0 and its link, in order. `last`: when the last one comes.
  TimeMs pipe_delay(TimeMs& last) {
    last = std::max(last, now_ + draw(0, 1));
    return last - now_;
  }
  void note(const std::string& text) {
    if (trace_) outcome_.trace += "  " + std::to_string(now_) + " " + text + "\n";
  }

  [[nodiscard]] bool stands(const Box& box) const {
    return box.paused_until > now_ && box.woke_at != now_;
  }

  // Faults.
  void happen(const NodeFault& fault);
  void note_fault(const NodeFault& fault);
  void crash(std::uint32_t node, bool vanishes);
  void begin_life(std::uint32_t node);
  void hang(std::uint32_t node);
  void save(TimeMs within);
  void hurt_others(std::uint32_t node);

  // A node.
  void change(std::uint32_t node, const std::function<void(Member&)>& how);
  void say(std::uint32_t node);
  void set_timer(std::uint32_t node);
  void end_node(std::uint32_t node);
  void relink(std::uint32_t node);
  void write_list(std::uint64_t list, TimeMs within);
  void connect(std::uint32_t node);
  void opened(std::uint32_t node, const Link& link);
  void link_closed(std::uint32_t node, const Link& link);
  void watch(std::uint32_t node);
  void ping(std::uint32_t node, const Link& link);
  void take(std::uint32_t node, const NodeVerdict& verdict);

  // The network.
  void send_up(const Link& link, std::function<void()> arrives);
  void send_down(const Link& link, std::function<void()> arrives);
  void close_from_below(const Link& link);
  void close_from_above(const Link& link);
  [[nodiscard]] bool reachable(std::uint32_t node) const;

  // Node 0's link.
  void begin_coordinator(bool all_connected = false);
  void end_coordinator();
  void replace_coordinator(TimeMs when);
  void served(const Link& link);
  void unserved(const Link& link);
  void came(const Link& link, const NodeReport& report);
  void tick();
  void flush();
  void tell(std::uint32_t node);

  void judge_end();

  NodesScenario scenario_;
  bool trace_;
  std::mt19937_64 random_;
  NodesOutcome outcome_;
  TimeMs now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<Item> items_;
  std::vector<Box> boxes_;
  std::vector<Link> served_;  // by node
  std::optional<Coordinator> coordinator_;
  std::uint32_t coordinators_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t ticking_ = 0;
  std::uint64_t list_ = kFirstList;
  TimeMs up_at_ = 0;
  TimeMs down_at_ = 0;
  NodesJudge judge_;
};

// Knows a rank that hangs by its place, as a stack would show it.
lifecycle::HangVerdict judge_hang(const std::vector<lifecycle::NodeLook>& looks,
                                  std::uint32_t /*look*/, bool /*whole*/) {
  lifecycle::HangVerdict verdict;
  for (const lifecycle::NodeLook& look : looks) {
    if (look.places == kHangs) verdict.suspects.push_back({look.node, 0});
  }
  return verdict;
}

Expectation expectation(const NodesScenario& scenario) {
  const bool calm = std::ranges::all_of(scenario.faults, [](const NodeFault& fault) {
    return fault.what == What::kRankFails && fault.at >= kConnectedMs;
  });
  const bool steady = std::ranges::all_of(scenario.faults, [](const NodeFault& fault) {
    return fault.what == What::kRankFails && fault.at >= kConnectedMs;
  });
  return {.nodes = scenario.nodes,
          .max_restarts = scenario.plan.max_restarts,
          .restart_reset_ms = scenario.plan.restart_reset_ms,
          .steady = steady && scenario.stops && scenario.plan.meets && scenario.spaced,
          .meets = scenario.plan.meets,
          .stops = scenario.stops,
          .harmless = scenario.harmless,
          .calm = calm && scenario.stops && scenario.faults.size() == 1,
          .unseen_ms = scenario.plan.most_unseen_ms,
          .culprit = scenario.planted && !scenario.faults.empty()
                         ? std::optional(scenario.faults.front().node)
                         : std::nullopt,
          .saves = scenario.faults.size() == 1 && scenario.faults.front().what == What::kSave,
          .lists = static_cast<std::uint32_t>(
              std::ranges::count(scenario.faults, What::kList, &NodeFault::what))};
}

NodesWorld::NodesWorld(const NodesScenario& scenario, bool trace)
    : scenario_(scenario),
      trace_(trace),
      random_(scenario.seed),
      boxes_(scenario.nodes),
      served_(scenario.nodes),
      judge_(expectation(scenario)) {}

NodesOutcome NodesWorld::run() {
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) begin_life(i);
  for (const NodeFault& fault : scenario_.faults) {
    items_.push({fault.at, 0, ++order_, scenario_.nodes, [this, fault] { happen(fault); }});
  }
  const NodePlan& plan = scenario_.plan;
  const TimeMs prepares = 10 * (plan.most_data_ms + plan.hooks * plan.most_hook_ms);
  const TimeMs end = scenario_.quiet_at + kQuietMs + prepares * (plan.max_restarts + 2);
  while (!items_.empty() && judge_.complaint().empty()) {
    Item item = items_.top();
    items_.pop();
    if (item.at > end) break;
    now_ = item.at;
    Box* box = item.where < boxes_.size() ? &boxes_[item.where] : nullptr;
    if (box != nullptr && stands(*box)) {
      item.at = box->paused_until;
      items_.push(std::move(item));
      continue;
    }
    ++outcome_.steps;
    item.happens();
    if (box != nullptr && box->throttled_until > now_ && box->woke_at != now_) {
      box->woke_at = now_;
      box->paused_until = now_ + draw(1, kThrottleMs);
    }
  }
  if (judge_.complaint().empty()) judge_end();
  outcome_.complaint = judge_.complaint();
  outcome_.starts = judge_.starts();
  return std::move(outcome_);
}

void NodesWorld::judge_end() {
  std::vector<Standing> nodes(boxes_.size());
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    const Box& box = boxes_[i];
    const bool linked = i == 0 ? coordinator_.has_value() : box.link && box.link->up;
    nodes[i] = {.alive = box.alive,
                .fresh = box.instance > 1,
                .linked = box.alive && linked,
                .known = box.known,
                .node = box.node.get()};
  }
  judge_.finish(nodes);
}

// --- Faults ---

void NodesWorld::note_fault(const NodeFault& fault) {
  note("fault " + std::to_string(static_cast<int>(fault.what)) + " of " +
       std::to_string(fault.node) + " for " + std::to_string(fault.length_ms));
}

void NodesWorld::happen(const NodeFault& fault) {
  Box& box = boxes_[fault.node];
  const TimeMs until = now_ + fault.length_ms;
  note_fault(fault);
  switch (fault.what) {
    case What::kRankFails:
      if (!box.alive || stands(box)) return;
      return change(fault.node, [this, which = fault.node](Member& node) {
        if (node.has_ranks() && node.stage() == Stage::kRunning) judge_.disturbed(which, now_);
        if (node.rank_fails(now_)) hurt_others(which);
      });
    case What::kHookFails:
      if (!box.alive || stands(box)) return;
      return change(fault.node, [this](Member& node) { node.preparation_fails(now_); });
    case What::kHang:
      return hang(fault.node);
    case What::kSave:
      return save(fault.length_ms);
    case What::kThrottle:
      if (box.alive) box.throttled_until = std::max(box.throttled_until, until);
      return;
    case What::kStop:
      if (!box.alive || stands(box)) return;
      return change(fault.node, [this](Member& node) { node.told_to_stop(now_); });
    case What::kCrash:
    case What::kVanish:
      if (!box.alive || box.node->stage() == Stage::kEnded) return;
      crash(fault.node, fault.what == What::kVanish);
      if (fault.length_ms < 0) return;
      at(until, scenario_.nodes, 0, [this, node = fault.node] {
        ++boxes_[node].instance;
        begin_life(node);
      });
      return;
    case What::kCut:
      if (box.link) {
        const Link link = box.link;
        link->cut = true;
        at(now_ + draw(0, 1500), fault.node, 0, [this, link] { link_closed(link->node, link); });
        at(now_ + draw(0, 1500), 0, 0, [this, link] { unserved(link); });
      }
      return;
    case What::kPartition:
      box.mute_up_until = std::max(box.mute_up_until, until);
      box.mute_down_until = std::max(box.mute_down_until, until);
      return;
    case What::kMuteUp:
      box.mute_up_until = std::max(box.mute_up_until, until);
      return;
    case What::kMuteDown:
      box.mute_down_until = std::max(box.mute_down_until, until);
      return;
    case What::kPause:
      if (!box.alive) return;
      box.paused_until = std::max(box.paused_until, until);
      box.woke_at = -1;
      return;
    case What::kList:
      list_ = list_ == kFirstList ? kFirstList + 1 : kFirstList;
      return write_list(list_, fault.length_ms);
    case What::kCoordinator:
      return replace_coordinator(until);
  }
}

void NodesWorld::crash(std::uint32_t node, bool vanishes) {
  Box& box = boxes_[node];
  box.alive = false;
  box.was_lost = box.was_lost || box.node->takes_part();
  box.vanished = vanishes;
  box.paused_until = box.throttled_until = 0;
  judge_.died(node);
  if (box.node->has_ranks() && !vanishes) hurt_others(node);  // else no connection is closed
  if (node == 0) {
    if (coordinator_) end_coordinator();
    return;
  }
  const Link link = std::exchange(box.link, nullptr);
  if (!link) return;
  link->up = false;
  if (!vanishes) close_from_below(link);
}

// The ranks of other nodes see their connections to it closed.
void NodesWorld::hurt_others(std::uint32_t node) {
  if (!scenario_.victims) return;
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    if (i == node || !boxes_[i].alive || !boxes_[i].node->has_ranks()) continue;
    later(draw(5, 2000), i, 0, [this, i, start = boxes_[i].node->start()] {
      if (boxes_[i].node->start() != start) return;
      change(i, [this](Member& of) { of.victim_fails(now_); });
    });
  }
}

// The ranks of all nodes make no progress any more; its own seems to, perhaps.
void NodesWorld::hang(std::uint32_t node) {
  const Box& box = boxes_[node];
  if (!box.alive || stands(box) || !box.node->has_ranks()) return;
  boxes_[node].node->rank_hangs();
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    if (!boxes_[i].alive || (i == node && draw(0, 1) == 0)) continue;
    const TimeMs silent = kStallMs + draw(0, 2000);
    later(silent, i, 0, [this, i, silent, start = boxes_[i].node->start()] {
      if (boxes_[i].node->start() != start) return;
      change(i, [&](Member& of) { of.stalls(silent, now_); });
    });
  }
}

// If the culprit has failed before, and the link can tell it in time, the checkpoint is in vain. A
// node that has not started has nothing to save.
void NodesWorld::save(TimeMs within) {
  if (scenario_.planted) {
    const NodeFault& fault = scenario_.faults.front();
    const Box& box = boxes_[fault.node];
    const bool failed = box.was_lost || box.node->guilty();
    const bool shows = fault.what != What::kVanish && fault.what != What::kHang;
    for (std::uint32_t i = 0; failed && shows && i < boxes_.size(); ++i) {
      if (boxes_[i].node->takes_part()) judge_.saves_in_vain(i);
    }
  }
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    later(draw(0, within), i, 0,
          [this, i] { change(i, [this](Member& of) { of.told_to_save(now_); }); });
  }
}

void NodesWorld::begin_life(std::uint32_t node) {
  Box& box = boxes_[node];
  box.alive = true;
  box.vanished = false;
  ++box.links;
  box.sent.reset();
  box.link.reset();
  box.node = std::make_unique<Member>(node, scenario_.plan, box.list,
                                      scenario_.seed * 1000 + node * 31 + box.instance, now_);
  box.watch = std::make_unique<LinkWatch>(scenario_.timeout_ms, scenario_.stops, "node 0");
  note("instance " + std::to_string(box.instance) + " of " + std::to_string(node));
  if (node == 0) {
    begin_coordinator();
    box.node->linked(true, now_);
  } else {
    later(draw(1, 300), node, 1, [this, node] { connect(node); });
  }
  set_timer(node);
}

// --- A node ---

void NodesWorld::change(std::uint32_t node, const std::function<void(Member&)>& how) {
  Box& box = boxes_[node];
  const Member before = *box.node;
  how(*box.node);
  const Member& after = *box.node;
  if (trace_ && (before.stage() != after.stage() || before.restarts() != after.restarts())) {
    static constexpr const char* kStages[] = {"preparing", "arrived", "running", "stopping",
                                              "ended"};
    note("node " + std::to_string(node) + " " + kStages[static_cast<int>(after.stage())] + " " +
         std::to_string(after.restarts()) + " code " + std::to_string(after.exit_code()));
  }
  judge_.moved(node, before, after, now_);
  if (before.cluster() != after.cluster()) relink(node);
  say(node);
  if (before.stage() != Stage::kEnded && after.stage() == Stage::kEnded) end_node(node);
  set_timer(node);
}

void NodesWorld::set_timer(std::uint32_t node) {
  Box& box = boxes_[node];
  const auto next = box.node->next();
  const std::uint64_t timer = ++box.timer;
  if (!next) return;
  later(std::max<TimeMs>(0, *next - now_), node, 1, [this, node, timer] {
    if (boxes_[node].timer != timer) return;
    change(node, [this](Member& of) { of.tick(now_); });
  });
}

// What is whole is sent when anything but an age in it is new.
void NodesWorld::say(std::uint32_t node) {
  Box& box = boxes_[node];
  NodeReport report = box.node->report(now_);
  if (scenario_.tamper_report != nullptr) scenario_.tamper_report(node, report);
  NodeReport bare = report;
  if (bare.failure) bare.failure->age_ms = 0;
  bare.ran_ms = std::min<TimeMs>(bare.ran_ms, 0);
  if (node == 0) {
    if (!coordinator_ || (box.sent && *box.sent == bare)) return;
    box.sent = bare;
    later(pipe_delay(up_at_), 0, 0, [this, report, which = coordinators_] {
      if (!coordinator_ || coordinators_ != which) return;
      boxes_[0].known = true;
      judge_.came(0, report);
      coordinator_->reported(0, report, now_);
      flush();
    });
    return;
  }
  if (!box.link || !box.link->up || (box.sent && *box.sent == bare)) return;
  box.sent = bare;
  send_up(box.link, [this, link = box.link, report] { came(link, report); });
}

void NodesWorld::end_node(std::uint32_t node) {
  Box& box = boxes_[node];
  ++box.watching;
  if (node == 0) {
    later(kLingerMs, 0, 1, [this] {
      if (coordinator_) end_coordinator();
    });
    return;
  }
  const Link link = std::exchange(box.link, nullptr);
  if (!link) return;
  link->up = false;
  close_from_below(link);
}

// Its link is made anew, without a farewell.
void NodesWorld::relink(std::uint32_t node) {
  Box& box = boxes_[node];
  ++box.links;
  if (node == 0) {
    if (coordinator_) end_coordinator();
    return begin_coordinator();
  }
  ++box.watching;
  box.watch = std::make_unique<LinkWatch>(scenario_.timeout_ms, scenario_.stops, "node 0");
  box.sent.reset();
  if (const Link link = std::exchange(box.link, nullptr); link) {
    link->up = false;
    close_from_below(link);
  }
  later(draw(1, 50), node, 1, [this, node] { connect(node); });
}

void NodesWorld::write_list(std::uint64_t list, TimeMs within) {
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
    at(now_ + draw(0, within), scenario_.nodes, 0, [this, i, list] {
      boxes_[i].list = list;
      if (boxes_[i].alive) change(i, [&](Member& of) { of.write_list(list, now_); });
    });
  }
}

bool NodesWorld::reachable(std::uint32_t node) const {
  const Box& box = boxes_[node];
  return coordinator_ && !stands(boxes_[0]) && box.mute_up_until <= now_ &&
         box.mute_down_until <= now_;
}

void NodesWorld::connect(std::uint32_t node) {
  Box& box = boxes_[node];
  if (box.link || box.node->stage() == Stage::kEnded) return;
  if (!reachable(node)) {
    later(draw(150, 400), node, 1, [this, node] { connect(node); });
    return;
  }
  auto link = std::make_shared<Connection>();
  link->node = node;
  link->instance = box.instance;
  link->cluster = box.node->cluster();
  box.link = link;
  send_up(link, [this, link] { served(link); });
  // Where nobody answers, it is tried again.
  later(1000, node, 1, [this, node, link] {
    if (link->up || boxes_[node].link != link) return;
    link->cut = true;
    boxes_[node].link.reset();
    close_from_below(link);
    connect(node);
  });
}

void NodesWorld::opened(std::uint32_t node, const Link& link) {
  Box& box = boxes_[node];
  if (box.link != link) return;
  link->up = true;
  box.sent.reset();
  box.watch->connected(now_);
  note("node " + std::to_string(node) + " connected");
  change(node, [this](Member& of) { of.linked(true, now_); });
  watch(node);
  ping(node, link);
}

void NodesWorld::link_closed(std::uint32_t node, const Link& link) {
  Box& box = boxes_[node];
  if (box.link != link || !box.alive) return;
  link->up = false;
  box.link.reset();
  box.watch->closed(now_);
  note("node " + std::to_string(node) + " sees its connection closed");
  watch(node);
  later(draw(50, 300), node, 1, [this, node] { connect(node); });
}

// Looks whether node 0 is lost when it may be.
void NodesWorld::watch(std::uint32_t node) {
  Box& box = boxes_[node];
  const auto next = box.watch->next_tick();
  const std::uint64_t watching = ++box.watching;
  if (!next) return;
  later(std::max<TimeMs>(1, *next - now_), node, 1, [this, node, watching] {
    Box& of = boxes_[node];
    if (of.watching != watching) return;
    const auto lost = of.watch->lost(now_);
    if (!lost) return watch(node);
    note("node " + std::to_string(node) + " holds node 0 for lost");
    judge_.lost_node_0(node);
    change(node, [&](Member& it) {
      it.apply_verdict(*lost, true, now_);
      it.linked(false, now_);
    });
    // A connection that is silent is given up.
    if (const Link link = of.link; link && link->up) {
      link->cut = true;
      close_from_below(link);
      link_closed(node, link);
    }
  });
}

void NodesWorld::ping(std::uint32_t node, const Link& link) {
  if (boxes_[node].link != link || !link->up) return;
  send_up(link, [this, link] {
    if (!coordinator_) return;
    coordinator_->heard(link->node, now_);
    flush();
    send_down(link, [this, link] { boxes_[link->node].watch->heard(now_); });
  });
  later(scenario_.timeout_ms / 4, node, 1, [this, node, link] { ping(node, link); });
}

void NodesWorld::take(std::uint32_t node, const NodeVerdict& verdict) {
  Box& box = boxes_[node];
  box.watch->heard(now_);
  const NodeVerdict told = box.watch->verdict(verdict, box.node->report(now_), now_);
  watch(node);
  change(node, [&](Member& of) { of.apply_verdict(told, told.by_itself, now_); });
}

// --- The network ---

void NodesWorld::send_up(const Link& link, std::function<void()> arrives) {
  const TimeMs held = std::max(now_, boxes_[link->node].mute_up_until);
  link->up_at = std::max(link->up_at, held + delay());
  at(link->up_at, 0, 0, [link, arrives = std::move(arrives), this] {
    const bool hello = !link->serves && !link->met;
    if (link->cut || !boxes_[0].alive || !coordinator_ || (!link->serves && !hello)) return;
    arrives();
  });
}

void NodesWorld::send_down(const Link& link, std::function<void()> arrives) {
  const TimeMs held = std::max(now_, boxes_[link->node].mute_down_until);
  link->down_at = std::max(link->down_at, held + delay());
  at(link->down_at, link->node, 0, [link, arrives = std::move(arrives), this] {
    const Box& box = boxes_[link->node];
    if (link->cut || !box.alive || box.instance != link->instance || box.link != link) return;
    arrives();
  });
}

void NodesWorld::close_from_below(const Link& link) {
  const TimeMs held = std::max(now_, boxes_[link->node].mute_up_until);
  link->up_at = std::max(link->up_at, held + delay());
  at(link->up_at, 0, 0, [link, this] { unserved(link); });
}

void NodesWorld::close_from_above(const Link& link) {
  link->serves = false;
  const TimeMs held = std::max(now_, boxes_[link->node].mute_down_until);
  link->down_at = std::max(link->down_at, held + delay());
  at(link->down_at, link->node, 0, [link, this] {
    if (boxes_[link->node].instance == link->instance) link_closed(link->node, link);
  });
}

// --- Node 0's link ---

void NodesWorld::begin_coordinator(bool all_connected) {
  Coordinator::Settings settings{.node_count = scenario_.nodes,
                                 .cluster = boxes_[0].node->cluster(),
                                 .stops = scenario_.stops,
                                 .together = scenario_.plan.meets,
                                 .timeout_ms = scenario_.timeout_ms - scenario_.impatience_ms,
                                 .restart_reset_ms = scenario_.plan.restart_reset_ms,
                                 .all_connected = all_connected,
                                 .judge_hang = judge_hang};
  coordinator_.emplace(std::move(settings), now_);
  ++coordinators_;
  version_ = 0;
  note("coordinator " + std::to_string(coordinators_));
  boxes_[0].sent.reset();
  for (Box& box : boxes_) box.known = false;
  coordinator_->connected(0, boxes_[0].instance, now_);
  judge_.connected(0, boxes_[0].instance);
  say(0);
  tick();
}

void NodesWorld::end_coordinator() {
  coordinator_.reset();
  ++ticking_;
  judge_.closed(0);
  note("coordinator gone");
  for (Link& link : served_) {
    if (!link) continue;
    judge_.closed(link->node);
    // Of a machine that is gone, nothing closes.
    if (!boxes_[0].vanished || boxes_[0].alive) close_from_above(link);
    link->serves = false;
    link.reset();
  }
}

void NodesWorld::replace_coordinator(TimeMs when) {
  if (!coordinator_) return;
  const bool all_connected = coordinator_->all_connected();
  end_coordinator();
  at(when, 0, 0, [this, all_connected, instance = boxes_[0].instance] {
    const Box& zero = boxes_[0];
    const bool lives =
        zero.alive && zero.instance == instance && zero.node->stage() != Stage::kEnded;
    if (lives && !coordinator_) begin_coordinator(all_connected);
  });
}

void NodesWorld::served(const Link& link) {
  link->met = true;
  if (link->cluster != boxes_[0].node->cluster()) return close_from_above(link);
  link->serves = true;
  if (const Link old = std::exchange(served_[link->node], link); old && old != link) {
    close_from_above(old);
  }
  const std::uint64_t instance = scenario_.forgets_instances ? 1 : link->instance;
  coordinator_->connected(link->node, instance, now_);
  judge_.connected(link->node, link->instance);
  send_down(link, [this, link] { opened(link->node, link); });
  tell(link->node);
  flush();
}

void NodesWorld::unserved(const Link& link) {
  link->met = true;
  link->serves = false;
  if (!coordinator_ || served_[link->node] != link) return;
  served_[link->node].reset();
  judge_.closed(link->node);
  note("node 0 sees the connection of " + std::to_string(link->node) + " closed");
  coordinator_->closed(link->node, now_);
  flush();
}

void NodesWorld::came(const Link& link, const NodeReport& report) {
  boxes_[link->node].known = true;
  judge_.came(link->node, report);
  coordinator_->reported(link->node, report, now_);
  flush();
}

void NodesWorld::tick() {
  const std::uint64_t ticking = ++ticking_;
  const auto next = coordinator_->next_tick();
  if (!next) return;
  later(std::max<TimeMs>(1, *next - now_), 0, 1, [this, ticking] {
    if (ticking_ != ticking || !coordinator_) return;
    coordinator_->tick(now_);
    flush();
    tick();
  });
}

void NodesWorld::flush() {
  if (coordinator_->version() == version_) return;
  version_ = coordinator_->version();
  for (std::uint32_t i = 0; i < boxes_.size(); ++i) tell(i);
  tick();
}

void NodesWorld::tell(std::uint32_t node) {
  NodeVerdict verdict = coordinator_->verdict_for(node, now_);
  const Link link = served_[node];
  if (node != 0 && !link) return;
  NodeVerdict bare = verdict;
  if (bare.failure) bare.failure->age_ms = 0;
  if (link && link->said == bare) return;
  if (link) link->said = bare;
  if (scenario_.tamper != nullptr) scenario_.tamper(node, verdict, coordinator_->report_of(node));
  judge_.said(node, coordinators_, verdict);
  note("says to " + std::to_string(node) + ": " + text(verdict));
  if (node == 0) {
    later(pipe_delay(down_at_), 0, 0, [this, verdict, links = boxes_[0].links] {
      if (boxes_[0].links != links) return;  // of a process that is not listened to any more
      change(0, [&](Member& of) { of.apply_verdict(verdict, false, now_); });
    });
    return;
  }
  send_down(link, [this, link, verdict] { take(link->node, verdict); });
}

}  // namespace

NodesOutcome run_nodes(const NodesScenario& scenario, bool trace) {
  return NodesWorld(scenario, trace).run();
}

}  // namespace sim
