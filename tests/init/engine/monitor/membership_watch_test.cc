#include "init/engine/monitor/membership_watch.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "init/engine/cluster/membership.h"
#include "init/engine/resolve/collect.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"
#include "tests/init/end_by.h"

namespace {

using engine::MembershipWatcher;
using testing::ElementsAre;
namespace fs = std::filesystem;

constexpr int kLimitMs = 180'000;

envgen::Cluster cluster_of(const std::vector<std::string>& hosts) {
  envgen::Cluster cluster;
  for (const std::string& host : hosts) {
    envgen::Node node;
    node.host = host;
    node.slots = 1;
    cluster.nodes.push_back(node);
  }
  cluster.world_size = static_cast<int>(hosts.size());
  return cluster;
}

std::uint64_t id_of(const std::vector<std::string>& hosts) {
  return engine::cluster_id(cluster_of(hosts));
}

// A file with a host on each line; "?" in it is an error, "..." a list that is not complete yet.
class MembershipWatch : public child::Scratch {
 protected:
  MembershipWatch() {
    fs::create_directory(path("config"));
    EXPECT_EQ(::mkfifo(path("looks").c_str(), 0600), 0);
    looks_.reset(::open(path("looks").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  }

  [[nodiscard]] std::string file() const { return path("config/hosts"); }
  void put(const std::string& content) const {
    forget_looks();
    write("config/hosts", content);
  }
  void rename_over(const std::string& content) const {
    forget_looks();
    fs::rename(write("config/new", content), file());
  }

  static envgen::Answer answer_of(const envgen::PathState& state) {
    const std::string& content = state.content;
    if (state.kind != envgen::PathState::Kind::kFile || content.find('?') != std::string::npos) {
      return {base::Error{"reading", "hosts", "nonsense", ""}, {}};
    }
    if (content.find("...") != std::string::npos) return {envgen::Pending{}, {}};
    if (content.find("others") != std::string::npos) {
      return {base::Error{.what = "finding", .not_listed = true}, {}};
    }
    std::vector<std::string> hosts;
    std::string host;
    for (const char c : content) {
      if (c != '\n') {
        host += c;
        continue;
      }
      hosts.push_back(host);
      host.clear();
    }
    envgen::Plan plan;
    plan.cluster = cluster_of(hosts);
    return {envgen::Planned{plan}, {}};
  }

  void start(const std::vector<std::string>& hosts) { start(id_of(hosts)); }
  void start(std::uint64_t running_id) {
    ASSERT_TRUE(watcher_.start({}, {}, running_id, {}, planner_, times_));
  }
  ~MembershipWatch() override {
    if (watcher_.pid() == 0 || ended_) return;
    ::kill(watcher_.pid(), SIGKILL);
    child::wait_for(watcher_.pid());
  }

  void forget_looks() const { child::read_now(looks_.get()); }
  // Returns 'p' for a look at a list that can be used, '-' for one at none, 'n' when the watcher
  // has reported instead.
  char next_look_or_news() {
    std::array<pollfd, 2> ready{{{looks_.get(), POLLIN, 0}, {watcher_.channel(), POLLIN, 0}}};
    char what = 0;
    if (::poll(ready.data(), ready.size(), kLimitMs) < 1) {
      throw std::runtime_error("the watcher never looked");
    }
    if ((ready[0].revents & POLLIN) == 0) return 'n';
    return ::read(looks_.get(), &what, 1) == 1 ? what : '-';
  }
  char next_look() {
    const char what = next_look_or_news();
    if (what == 'n') throw std::runtime_error("the watcher has reported instead of looking");
    return what;
  }
  // After a change: the first look may have begun before it.
  void await_look() {
    next_look();
    next_look();
  }
  void expect_silence() {
    pollfd ready{watcher_.channel(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, static_cast<int>(times_.stable_ms * 3 / 2)), 0);
  }
  // News of a watcher that runs in this process, of a job of a and b: between two of its looks
  // nothing changes but by `then`, however late either is. That is told how many looks there were
  // and the time since the first one, and writes the file each time: of one that is old, the
  // watcher makes no further look.
  std::vector<std::string> watch(const std::function<void(int looks, std::int64_t ms)>& then) {
    times_.stable_ms = 300;
    std::vector<std::string> said;
    int looks = 0;
    const std::int64_t start_ms = sys::monotonic_ms();
    const engine::Planner planner = [&](envgen::Snapshot& snapshot, const envgen::Request&) {
      envgen::PathState& state = snapshot.paths[file()];
      state = sys::inspect(file(), true);
      envgen::Answer answer = answer_of(state);
      then(++looks, sys::monotonic_ms() - start_ms);
      return answer;
    };
    const auto send = [&said](const std::string& text) {
      said.push_back(text);
      return true;
    };
    EXPECT_EQ(engine::watch_membership({}, {}, id_of({"a", "b"}), send, planner, times_), 0);
    return said;
  }

  std::string message() {
    pollfd ready{watcher_.channel(), POLLIN, 0};
    while (news_.empty() && ::poll(&ready, 1, kLimitMs) == 1) watcher_.read();
    if (!news_.empty()) {
      EXPECT_EQ(watcher_.channel(), -1) << "one message";
      EXPECT_EQ(child::wait_for(watcher_.pid()), 0);
      ended_ = true;
      return news_;
    }
    ADD_FAILURE() << "no news";
    return "";
  }

  engine::MembershipTimes times_{.look_ms = 20, .stable_ms = 600};
  sys::Fd looks_;
  // Writes a byte for each look. In the child the descriptors of the test are closed.
  engine::Planner planner_ = [fifo = path("looks"), hosts = file()](envgen::Snapshot& snapshot,
                                                                    const envgen::Request&) {
    envgen::PathState& state = snapshot.paths[hosts];
    state = sys::inspect(hosts, true);
    envgen::Answer answer = answer_of(state);
    const sys::Fd told(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    child::say(told.get(), std::holds_alternative<envgen::Planned>(answer.outcome) ? "p" : "-");
    return answer;
  };
  std::string news_;
  MembershipWatcher watcher_{[this](const std::string& text) { news_ = text; }};
  bool ended_ = false;
};

TEST_F(MembershipWatch, TellsOfAFileThatIsRewrittenInPlace) {
  put("a\nb\nc\n");
  start({"a", "b", "c"});
  await_look();
  put("a\nb\n");
  EXPECT_EQ(message(), "membership changed: 3 nodes -> 2 (gone: c)");
}

TEST_F(MembershipWatch, TellsOfAListWithoutThisNode) {
  put("a\nb\nc\n");
  start({"a", "b", "c"});
  await_look();
  put("others\n");
  EXPECT_EQ(message(), "membership changed: this node is in the list no longer");
}

TEST_F(MembershipWatch, TellsOfAFileThatIsRenamedOverIt) {
  put("a\nb\n");
  start({"a", "b"});
  await_look();
  rename_over("a\nb\nc\nd\n");
  EXPECT_EQ(message(), "membership changed: 2 nodes -> 4 (new: c, d)");
}

TEST_F(MembershipWatch, TellsOfAConfigMapWhoseLinkIsSwapped) {
  auto publish = [this](const std::string& version, const std::string& content) {
    fs::create_directory(path("config/" + version));
    write("config/" + version + "/hosts", content);
    fs::create_symlink(version, path("config/..data_tmp"));
    fs::rename(path("config/..data_tmp"), path("config/..data"));
  };
  publish("..1", "a\nb\n");
  fs::create_symlink("..data/hosts", file());
  start({"a", "b"});
  await_look();
  publish("..2", "a\nc\n");
  fs::remove_all(path("config/..1"));
  EXPECT_EQ(message(), "membership changed: 2 nodes (gone: b; new: c)");
}

TEST_F(MembershipWatch, TellsWhatChangedBeforeItWasStarted) {
  put("a\n");
  start({"a", "b"});
  EXPECT_EQ(message(), "membership changed: now 1 node");
}

TEST_F(MembershipWatch, WithoutAListToCompareWithTakesTheFirstForIt) {
  put("a\nb\n");
  start(0);
  await_look();
  put("a\n");
  EXPECT_EQ(message(), "membership changed: 2 nodes -> 1 (gone: b)");
}

// The change counts from its last one on, and as it is then.
TEST_F(MembershipWatch, WaitsUntilTheListStaysAsItIs) {
  put("a\nb\nc\n");
  start({"a", "b", "c"});
  await_look();
  std::int64_t last_ms = 0;
  for (int i = 0; i < 30; ++i) {
    last_ms = sys::monotonic_ms();
    put(i % 2 == 0 ? "a\n" : "a\nb\n");
    if (next_look_or_news() == 'n' || next_look_or_news() == 'n') {
      // This process stood still for longer than the list has to be stable, on a busy machine.
      EXPECT_THAT(message(), testing::AnyOf("membership changed: 3 nodes -> 1 (gone: b, c)",
                                            "membership changed: 3 nodes -> 2 (gone: c)"));
      return;
    }
  }
  EXPECT_EQ(message(), "membership changed: 3 nodes -> 2 (gone: c)");
  EXPECT_GE(sys::monotonic_ms() - last_ms, times_.stable_ms);
}

TEST_F(MembershipWatch, SaysNothingOfAListThatComesBack) {
  put("a\nb\n");
  EXPECT_THAT(watch([this](int looks, std::int64_t passed_ms) {
                const bool changes = passed_ms <= times_.stable_ms * 3 / 2;
                if (passed_ms > times_.stable_ms * 3) {
                  put("a\nb\nc\n");
                } else {
                  put(changes && looks % 2 == 1 ? "a\n" : "a\nb\n");
                }
              }),
              ElementsAre("membership changed: 2 nodes -> 3 (new: c)"));
}

TEST_F(MembershipWatch, AnErrorOrAnUnfinishedListIsNoChangeAndBeginsTheTimeAnew) {
  put("a\nb\n");
  struct Step {
    std::string content;
    bool lasts = false;  // longer than a list has to be stable, or for one look
  };
  const std::vector<Step> steps = {{"a\nb\n"},       {"a\n"}, {"?", true},       {"a\n"},
                                   {"a\n...", true}, {"a\n"}, {"a\nb\n?", true}, {"a\n"}};
  std::size_t at = 0;
  std::int64_t since_ms = 0;
  std::int64_t back_ms = 0;
  const auto said = watch([&](int, std::int64_t passed_ms) {
    const std::int64_t lasts_ms = steps[at].lasts ? times_.stable_ms * 3 / 2 : 0;
    if (at + 1 < steps.size() && passed_ms - since_ms >= lasts_ms) {
      since_ms = passed_ms;
      if (++at + 1 == steps.size()) back_ms = sys::monotonic_ms();
    }
    put(steps[at].content);
  });
  EXPECT_THAT(said, ElementsAre("membership changed: 2 nodes -> 1 (gone: b)"));
  EXPECT_GT(back_ms, 0);
  EXPECT_GE(sys::monotonic_ms() - back_ms, times_.stable_ms);
}

TEST_F(MembershipWatch, AFileThatIsGoneIsNoChangeAndBeginsTheTimeAnew) {
  put("a\nb\n");
  start({"a", "b"});
  await_look();
  fs::remove(file());
  expect_silence();
  const std::int64_t back_ms = sys::monotonic_ms();
  put("a\n");
  EXPECT_EQ(message(), "membership changed: 2 nodes -> 1 (gone: b)");
  EXPECT_GE(sys::monotonic_ms() - back_ms, times_.stable_ms);
}

TEST_F(MembershipWatch, GivesNoNewsWhenItIsKilled) {
  put("a\n");
  start({"a"});
  await_look();
  ::kill(watcher_.pid(), SIGKILL);
  EXPECT_EQ(child::wait_for(watcher_.pid()), 128 + SIGKILL);
  ended_ = true;
  watcher_.read();
  EXPECT_EQ(news_, "");
  EXPECT_EQ(watcher_.channel(), -1);
}

TEST_F(MembershipWatch, FailsWithoutNewsWhenItsReadingDoes) {
  planner_ = [](envgen::Snapshot&, const envgen::Request&) -> envgen::Answer {
    child::end_by(std::runtime_error("a defect"));
  };
  start({"a"});
  EXPECT_EQ(child::wait_for(watcher_.pid()), 125);
  ended_ = true;
  watcher_.read();
  EXPECT_EQ(news_, "");
  EXPECT_EQ(watcher_.channel(), -1);
}

TEST_F(MembershipWatch, ADamagedMessageIsNoNews) {
  child::Pipe pipe = child::make_pipe();
  ::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK);
  MembershipWatcher watcher([](const std::string& text) { ADD_FAILURE() << text; });
  watcher.adopt(0, std::move(pipe.out));
  child::say(pipe.in.get(), std::string("\7\0\0\0\4\0\0\0abcd", 12));
  watcher.read();
  EXPECT_EQ(watcher.channel(), -1);
}

// --- A look at the real thing: a rank table of ModelArts ---

std::string table_of(const std::vector<std::string>& pods) {
  std::string list;
  for (const std::string& pod : pods) {
    const std::string number = pod.substr(pod.rfind('-') + 1);
    list += (list.empty() ? "" : ",") + std::string(R"({"pod_name": ")") + pod +
            R"(", "server_id": "10.0.0.)" + number +
            R"(", "devices": [{"device_id": "0", "device_ip": "192.168.1.)" + number + "\"}]}";
  }
  const std::string count = std::to_string(pods.size());
  return R"({"status": "completed", "group_count": "1", "group_list": [{"group_name": "job",
    "device_count": ")" +
         count + R"(", "instance_count": ")" + count + R"(", "instance_list": [)" + list + "]}]}";
}

TEST_F(MembershipWatch, OfARankTable) {
  envgen::Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/bin", "RANK_TABLE_FILE=" + path("config"),
                                "MA_CURRENT_INSTANCE_NAME=job-0", "MA_VJ_NAME=ma-job-1"});
  snapshot.facts.cwd = path("");
  snapshot.facts.host_name = "job-0";
  snapshot.facts.run_dir = path("run");
  envgen::Request request;
  request.command = {"python", "train.py"};
  write("config/jobstart_hccl.json", table_of({"job-0", "job-1", "job-2"}));
  std::vector<std::string> said;
  auto send = [&said](const std::string& text) {
    said.push_back(text);
    return true;
  };
  int looks = 0;
  auto planner = [&](envgen::Snapshot& one, const envgen::Request& same) {
    envgen::Answer answer = engine::collect_and_resolve(one, same);
    ++looks;
    if (looks == 2) write("config/jobstart_hccl.json", "{");
    if (looks == 4) {
      fs::rename(write("config/new", table_of({"job-0", "job-1"})),
                 path("config/jobstart_hccl.json"));
    }
    return answer;
  };
  EXPECT_EQ(engine::watch_membership(snapshot, request, 0, send, planner, times_), 0);
  EXPECT_THAT(said, ElementsAre("membership changed: 3 nodes -> 2 (gone: job-2)"));
}

}  // namespace
