#include "init/engine/report/phase_log.h"

#include <gmock/gmock.h>

#include <csignal>

#include "tests/init/child.h"

namespace {

using engine::Job;
using lifecycle::ExitStatus;
using lifecycle::Machine;
using lifecycle::TaskKind;
namespace event = lifecycle::event;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What the log says when main tasks end in one turn, and QUIT had come from outside before.
std::string said_of(const std::vector<ExitStatus>& endings) {
  return child::run([&endings] {
           sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
           Job job;
           Machine machine({}, {});
           event::ClusterReady ready;
           for (std::size_t i = 0; i < endings.size(); ++i) {
             job.records.push_back(
                 {.name = "rank-" + std::to_string(i), .process = static_cast<int>(i)});
             ready.tasks.push_back(TaskKind::kMain);
           }
           machine.step(event::Begin{}, 0);
           machine.step(ready, 1);
           event::TasksEnded ended;
           ended.forwarded = SIGQUIT;
           for (std::uint32_t i = 0; i < endings.size(); ++i) {
             machine.step(event::TaskStarted{{i, 1}}, 2);
             ended.ends.push_back({{i, 1}, endings[i], true});
           }
           const engine::PhaseState before{.phase = machine.phase()};
           machine.step(ended, 3);
           engine::report_transition(before, ended, job, machine, 3, nullptr);
           return 0;
         })
      .err;
}

TEST(ForwardedSignal, IsSaidOfWhomItEnded) {
  const ExitStatus well;
  const ExitStatus quit{ExitStatus::How::kSignaled, SIGQUIT};
  const ExitStatus shell_says{ExitStatus::How::kExited, 128 + SIGQUIT};
  EXPECT_THAT(said_of({well, quit, well}), HasSubstr("SIGQUIT came from outside and has ended "
                                                     "rank-1: the job is stopped"));
  EXPECT_THAT(said_of({well, quit, shell_says}), HasSubstr("has ended rank-1, rank-2: the job"));
  EXPECT_THAT(said_of({{ExitStatus::How::kExited, 3}, quit}),
              AllOf(HasSubstr("has ended rank-1:"), Not(HasSubstr("rank-0"))));
}

}  // namespace
