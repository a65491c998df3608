#pragma once
// Node of a simulated job: a Machine with a resolver, a copy of data, pre-start hooks and one
// rank, behind a NodeAgent. Its processes start, die and are told to stop in times of their own.
// The calls are what happens to a node; next() is when something happens in it.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "lifecycle/coordinator.h"
#include "lifecycle/hang_agent.h"
#include "lifecycle/machine.h"
#include "lifecycle/node_agent.h"

namespace sim {

using lifecycle::NodeFailure;
using lifecycle::NodeReport;
using lifecycle::NodeVerdict;
using lifecycle::TimeMs;

inline constexpr int kGuiltyCode = 9;
inline constexpr int kVictimCode = 8;
inline constexpr const char* kHangs = "hangs";  // NodeReport::places of a rank that does

struct NodePlan {
  bool meets = true;  // waits for the others before each start; else it may not start again
  int max_restarts = 2;
  TimeMs restart_reset_ms = 0;
  TimeMs work_until = -1;  // then its rank ends well; -1: it does not
  TimeMs most_stop_ms = 2000;
  TimeMs rendezvous_ms = 600'000;
  TimeMs most_look_ms = 6000;  // until another list of nodes is seen
  int hooks = 0;               // pre-start hooks of each start
  TimeMs most_hook_ms = 0;     // one of them takes
  bool data = false;           // copied before the first start, and again if that was broken off
  TimeMs most_data_ms = 0;     // the copy takes
  TimeMs most_unseen_ms = 0;   // its rank is dead for so long before the node sees that
  bool saves = false;          // its rank ends when it was asked to save, within:
  TimeMs most_save_ms = 0;
  int slow_node = -1;  // its hooks and its copy take ten times as long; -1: no node's
};

class Member {
 public:
  using Stage = NodeReport::Stage;
  // `list`: a digest of the nodes, as the platform has written them here.
  Member(std::uint32_t index, const NodePlan& plan, std::uint64_t list, std::uint64_t seed,
         TimeMs now);

  void tick(TimeMs now);
  [[nodiscard]] std::optional<TimeMs> next() const;
  bool rank_fails(TimeMs now);                // true: it had a rank, which has died
  void victim_fails(TimeMs now);              // its rank, because another node's has failed
  void preparation_fails(TimeMs now);         // the hook or the copy of data that runs, if one does
  void rank_hangs() { hangs_ = has_ranks_; }  // the ranks of all nodes wait for it
  void stalls(TimeMs silent_ms, TimeMs now);  // its watch has seen no progress for so long
  void told_to_stop(TimeMs now);
  void told_to_save(TimeMs now);
  void write_list(std::uint64_t list, TimeMs now);
  // Of node 0, or what the node concludes of node 0's loss.
  void apply_verdict(const NodeVerdict& verdict, bool by_itself, TimeMs now);
  void linked(bool up, TimeMs now);

  [[nodiscard]] NodeReport report(TimeMs now);
  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] bool has_ranks() const { return has_ranks_; }
  // Whether the node was allowed to start, and its hooks, copy or rank run.
  [[nodiscard]] bool takes_part() const {
    return has_ranks_ || (meeting_ != 0 && !preparations_.empty());
  }
  [[nodiscard]] std::uint64_t cluster() const { return cluster_; }  // the list that it goes by
  [[nodiscard]] std::uint64_t meeting() const { return meeting_; }
  [[nodiscard]] std::uint32_t restarts() const { return machine_.restarts(); }
  // Differs from start to start, also if another node 0 counts from 0 again.
  [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> start() const {
    return {machine_.restarts(), meeting_};
  }
  [[nodiscard]] bool guilty() const { return guilty_; }       // something of its own failed, ever
  [[nodiscard]] bool ends_by_itself() const { return own_; }  // in this start
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // What it goes by when it ends or starts again, as node 0 said it.
  [[nodiscard]] const std::optional<NodeFailure>& named() const { return named_; }

 private:
  // What is under way in its processes.
  enum class Due : std::uint8_t { kResolved, kStarted, kDone, kDies, kSwept, kSeen };
  static constexpr std::size_t kDues = 6;

  TimeMs draw(TimeMs least, TimeMs most);
  void step(const lifecycle::Event& event, TimeMs now);
  void carry_out(const lifecycle::Action& action, TimeMs now);
  void start(lifecycle::TaskRef task, TimeMs now);
  void due(Due what, TimeMs at) { due_.at(static_cast<std::size_t>(what)) = at; }
  void happen(Due what, TimeMs now);
  void rank_ends(lifecycle::ExitStatus exit_status, TimeMs now);
  void preparation_ends(std::uint32_t index, lifecycle::ExitStatus exit_status, TimeMs now);
  [[nodiscard]] TimeMs preparation_ms(lifecycle::TaskKind kind);
  void look(TimeMs now);
  void settle_hang(TimeMs now);
  void resolved(TimeMs now);
  [[nodiscard]] bool sees_another_list() const;

  std::uint32_t index_;
  NodePlan plan_;
  std::uint64_t list_;
  std::uint64_t cluster_;
  std::mt19937_64 random_;
  lifecycle::Policy policy_;
  lifecycle::Machine machine_;
  lifecycle::NodeAgent side_;
  lifecycle::HangAgent hang_agent_;
  std::optional<TimeMs> looked_at_;  // when it will be known where its rank is
  bool hangs_ = false;
  bool ran_ = false;  // since hang_agent_ has forgotten
  struct Alarm {
    std::uint32_t generation = 0;
    std::optional<TimeMs> at;
  };
  std::array<Alarm, lifecycle::kTimerCount> alarms_;
  std::array<std::optional<TimeMs>, kDues> due_;
  struct Preparation {  // a pre-start hook or a copy of data that runs
    lifecycle::TaskRef task;
    TimeMs ends_at = 0;
    lifecycle::ExitStatus exit_status = {};
  };
  std::map<std::uint32_t, Preparation> preparations_;  // by TaskRef::index
  lifecycle::TaskRef resolver_;
  lifecycle::TaskRef rank_;
  std::optional<lifecycle::ExitStatus> dead_;  // its rank, which is not seen yet,
  bool unasked_ = false;                       // and was told to stop meanwhile
  int signal_ = 0;                             // which its rank is about to die of
  std::optional<TimeMs> complete_at_;          // the failure's last lines are there
  Stage stage_ = Stage::kPreparing;
  std::uint32_t start_ = 0;
  std::uint64_t meeting_ = 0;
  bool has_ranks_ = false;
  bool guilty_ = false;
  bool victim_ = false;  // what failed in this start did so because of another node
  bool own_ = false;
  bool alone_ = false;  // it goes by what it has concluded
  bool exited_ = false;
  int exit_code_ = 0;
  std::optional<NodeFailure> named_;
};

}  // namespace sim
