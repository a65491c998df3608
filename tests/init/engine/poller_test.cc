#include "init/engine/poller.h"

#include <csignal>

#include "init/sys/clock.h"
#include "tests/init/child.h"

namespace {

using engine::Poller;

std::vector<std::uint32_t> ids(const std::vector<Poller::Watched>& ready) {
  std::vector<std::uint32_t> list;
  list.reserve(ready.size());
  for (const Poller::Watched& one : ready) list.push_back(one.id);
  return list;
}
using Ids = std::vector<std::uint32_t>;

// In a process of its own, as signals are taken over.
int alone(const std::function<int(Poller&, proc::SignalSource&)>& body) {
  return child::run([&body] {
           proc::take_over_signals();
           proc::SignalSource signals;
           Poller poller;
           return body(poller, signals);
         })
      .code;
}

TEST(Poller, SaysWhatCanBeReadInTheOrderInWhichItWasAdded) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              child::Pipe first = child::make_pipe();
              child::Pipe silent = child::make_pipe();
              child::Pipe last = child::make_pipe();
              child::say(last.in.get(), "x");
              child::say(first.in.get(), "x");
              poller.add({first.out.get(), 1, 10});
              poller.add({silent.out.get(), 2, 20});
              poller.add({last.out.get(), 3, 30});
              const auto& ready = poller.wait(signals, std::nullopt);
              return ids(ready) == Ids{1, 3} && ready[1].index == 30 ? 0 : 1;
            }),
            0);
}

TEST(Poller, SaysThatADescriptorIsAtItsEnd) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              child::Pipe pipe = child::make_pipe();
              pipe.in.reset();
              poller.add({pipe.out.get(), 5, 0});
              return ids(poller.wait(signals, std::nullopt)) == Ids{5} ? 0 : 1;
            }),
            0);
}

TEST(Poller, LeavesOutWhatIsNotOpen) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              poller.add({-1, 5, 0});
              return poller.wait(signals, 0).empty() ? 0 : 1;
            }),
            0);
}

TEST(Poller, ForgetsAllWhenItIsCleared) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              child::Pipe pipe = child::make_pipe();
              pipe.in.reset();
              poller.add({pipe.out.get(), 5, 0});
              poller.clear();
              return poller.wait(signals, 0).empty() ? 0 : 1;
            }),
            0);
}

TEST(Poller, WaitsAsLongAsItMay) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              const std::int64_t start = sys::monotonic_ms();
              if (!poller.wait(signals, 20).empty()) return 1;
              if (sys::monotonic_ms() < start + 20) return 2;
              // A time that is over is none to wait.
              return poller.wait(signals, -1).empty() ? 0 : 3;
            }),
            0);
}

TEST(Poller, EndsItsWaitByASignalWhichItLeavesToTheCaller) {
  EXPECT_EQ(alone([](Poller& poller, proc::SignalSource& signals) {
              const pid_t child = ::fork();
              if (child == 0) ::_exit(0);
              if (!poller.wait(signals, std::nullopt).empty()) return 1;
              std::array<proc::Received, 4> room;
              const auto received = signals.read(room);
              return received.size() == 1 && received[0].signal == SIGCHLD ? 0 : 2;
            }),
            0);
}

}  // namespace
