#include "init/engine/resolve/resolver.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "base/wire.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"
#include "tests/test_timeout.h"

namespace {

using engine::Resolver;
using engine::ResolverFailed;
using engine::ResolverMessage;
using engine::ResolverWaits;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr const char* kInitializing = R"({"status": "initializing"})";

std::string table_of(int devices) {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    const std::string id = std::to_string(i);
    list += (i == 0 ? "" : ",") + std::string(R"({"device_id": ")") + id +
            R"(", "device_ip": "192.168.1.1)" + id + "\"}";
  }
  return R"({"status": "completed", "group_count": "1", "group_list": [{"group_name": "job",
    "device_count": ")" +
         std::to_string(devices) + R"(", "instance_count": "1",
    "instance_list": [{"pod_name": "job-0", "server_id": "10.0.0.1", "devices": [)" +
         list + "]}]}]}";
}

// A pod of ModelArts whose table lies in config/.
class Resolve : public child::Scratch {
 protected:
  Resolve() {
    fs::create_directory(path("config"));
    fs::create_directory(path("run"));
    fs::create_directory(path("home"));
    snapshot_.env = base::Environ({"PATH=/bin", "RANK_TABLE_FILE=" + path("config"),
                                   "MA_CURRENT_INSTANCE_NAME=job-0", "MA_VJ_NAME=ma-job-1"});
    snapshot_.facts.cwd = path("home");
    snapshot_.facts.host_name = "job-0";
    snapshot_.facts.run_dir = path("run");
    request_.command = {"python", "train.py"};
    request_.rank_table_timeout_ms = 180'000;
  }

  std::string put_table(const std::string& content) const {
    return write("config/jobstart_hccl.json", content);
  }
  // As `mv` does.
  void rename_table(const std::string& content) const {
    fs::rename(write("config/new", content), path("config/jobstart_hccl.json"));
  }

  // Runs it; `on_wait` is told each reason, and may change the files.
  int run(const std::function<void(const std::string& reason)>& on_wait = {},
          const engine::Planner& planner = {}) {
    auto take = [&](const ResolverMessage& message) {
      if (const auto* waits = std::get_if<ResolverWaits>(&message)) {
        reasons_.push_back(waits->reason);
        if (on_wait) on_wait(waits->reason);
      } else if (const auto* failed = std::get_if<ResolverFailed>(&message)) {
        failed_ = *failed;
      } else {
        plan_ = std::get<envgen::Plan>(message);
      }
      return true;
    };
    return engine::resolve_and_prepare(snapshot_, request_, take, planner, restarts_);
  }

  envgen::Snapshot snapshot_;
  envgen::Request request_;
  std::uint32_t restarts_ = 0;
  std::vector<std::string> reasons_;
  std::optional<ResolverFailed> failed_;
  std::optional<envgen::Plan> plan_;
};

TEST_F(Resolve, PlansATableThatIsComplete) {
  put_table(table_of(2));
  EXPECT_EQ(run(), 0);
  ASSERT_TRUE(plan_);
  EXPECT_EQ(plan_->processes.size(), 2U);
  EXPECT_THAT(reasons_, ElementsAre());
  EXPECT_FALSE(failed_);
}

TEST_F(Resolve, WritesThePlansFilesBeforeItSaysSo) {
  put_table(table_of(2));
  run();
  ASSERT_TRUE(plan_);
  EXPECT_THAT(read(path("run/rank_table/jobstart_hccl.json")), HasSubstr("\"server_list\""));
  for (const envgen::Process& process : plan_->processes) {
    EXPECT_TRUE(fs::is_directory(process.cwd)) << process.cwd;
  }
}

TEST_F(Resolve, CopiesAFileWhoseContentThePlanDoesNotHold) {
  write("secret", "key", 0444);
  envgen::Plan plan;
  plan.directories = {{path("run/ssh")}};
  plan.files = {{path("run/ssh/key"), 0600, "", path("secret")}};
  EXPECT_TRUE(engine::carry_out_files(plan));
  EXPECT_EQ(read(path("run/ssh/key")), "key");
  EXPECT_EQ(fs::status(path("run/ssh/key")).permissions(), fs::perms(0600));

  plan.files[0].copy_of = path("none");
  auto absent = engine::carry_out_files(plan);
  ASSERT_FALSE(absent);
  EXPECT_THAT(to_line(absent.error()), AllOf(HasSubstr(path("none")), HasSubstr("no such file")));
  plan.files[0].copy_of = path("home");
  EXPECT_THAT(to_line(engine::carry_out_files(plan).error()), HasSubstr("a directory"));
}

// The way to a directory is kept from one path to the next. In a container one of the image has a
// link still when it is removed: overlayfs says 1 for each that it has merged.
TEST_F(Resolve, MakesWhatLiesInADirectoryThatWasEmptiedByAnotherName) {
  constexpr int kNoMount = 77;
  for (const std::string name :
       {"merged/a/b", "merged//a/b", "merged/a/b/", "merged/./a/b", "link/b"}) {
    fs::remove_all(path("image"));
    for (const std::string below : {"image/a/b", "merged", "upper"}) {
      fs::create_directories(path(below));
    }
    fs::remove(path("link"));
    fs::create_directory_symlink(path("merged/a"), path("link"));
    const auto outcome = child::run([&] {
      const std::string layers = "lowerdir=" + path("image") +
                                 ",upperdir=" + path("upper/changed") +
                                 ",workdir=" + path("upper/work");
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
          ::mount("tmpfs", path("upper").c_str(), "tmpfs", 0, "") != 0) {
        return kNoMount;
      }
      fs::create_directory(path("upper/changed"));
      fs::create_directory(path("upper/work"));
      if (::mount("overlay", path("merged").c_str(), "overlay", 0, layers.c_str())) return kNoMount;
      envgen::Plan plan;
      plan.directories = {{path("merged/a/b/c")},
                          {path("merged/a/b/d")},
                          {path(name), true},
                          {path("merged/a/b/e")}};
      const auto done = engine::carry_out_files(plan);
      child::say(STDOUT_FILENO, done ? "done" : to_line(done.error()));
      return fs::exists(path("merged/a/b/d")) || !fs::exists(path("merged/a/b/e")) ? 1 : 0;
    });
    if (outcome.code == kNoMount) GTEST_SKIP() << "may not mount an overlay";
    EXPECT_EQ(outcome.out, "done") << name;
    EXPECT_EQ(outcome.code, 0) << name;
  }
}

// What writes a file of the plan here is the other that removes it.
TEST_F(Resolve, MakesADirectoryAgainThatSomebodyRemovedMeanwhile) {
  auto planner = [&](envgen::Snapshot&, const envgen::Request&) {
    envgen::Plan plan;
    plan.observe.stacks = true;
    plan.directories = {{path("run/stacks/other")}};
    const auto remove = [this](const base::LazyText::Sink& sink) {
      fs::remove_all(path("run/stacks"));
      sink("content");
    };
    plan.files = {{.path = path("home/file"), .mode = 0600, .content = base::LazyText(remove)}};
    return envgen::Answer{envgen::Planned{std::move(plan)}, {}};
  };
  EXPECT_EQ(run({}, planner), 0);
  ASSERT_TRUE(plan_);
  EXPECT_THAT(plan_->warnings, ElementsAre());
  EXPECT_TRUE(fs::exists(path("run/stacks/python/sitecustomize.py")));
}

TEST_F(Resolve, GoesThroughALinkBelowADirectoryThatItKeeps) {
  fs::create_directories(path("run/far"));
  fs::create_directory_symlink("far", path("run/near"));
  envgen::Plan plan;
  plan.directories = {{path("run/a")}, {path("run/near/b/c")}, {path("run/near/b/d")}};
  ASSERT_TRUE(engine::carry_out_files(plan));
  EXPECT_TRUE(fs::is_directory(path("run/far/b/c")));
  EXPECT_TRUE(fs::is_directory(path("run/far/b/d")));
}

TEST_F(Resolve, MakesDirectoriesWithTheirModeWhateverTheUmaskIs) {
  envgen::Plan plan;
  plan.directories = {{path("run/a/b")}, {path("run/a/c")}};
  const mode_t before = ::umask(077);
  const auto done = engine::carry_out_files(plan);
  EXPECT_EQ(::umask(before), 077U) << "the caller's stays";
  ASSERT_TRUE(done);
  for (const char* name : {"run/a", "run/a/b", "run/a/c"}) {
    EXPECT_EQ(fs::status(path(name)).permissions(), fs::perms(0755)) << name;
  }
}

// The job may move a directory that others have files in to where it may write.
TEST_F(Resolve, RemovesNothingOfOthersWithTheJobs) {
  if (!child::is_root()) GTEST_SKIP() << "needs other users";
  constexpr uid_t kJob = 1000;
  constexpr uid_t kOther = 2000;
  ASSERT_EQ(::chmod(path("").c_str(), 0755), 0);
  envgen::Plan plan;
  plan.sandbox.identity = envgen::Identity{.uid = kJob, .gid = kJob};
  plan.directories = {{path("run/errors"), true, true}};
  const auto carry_out = [&plan] {
    return child::run([&plan] {
      const auto done = engine::carry_out_files(plan);
      child::say(STDOUT_FILENO, done ? "done" : to_line(done.error()));
      return 0;
    });
  };
  EXPECT_EQ(carry_out().out, "done");
  fs::create_directories(path("run/errors/own/below"));
  for (const char* name : {"run/errors/own/below", "run/errors/own"}) {
    ASSERT_EQ(::lchown(path(name).c_str(), kJob, kJob), 0);
  }
  ASSERT_EQ(::chmod(path("run/errors/own").c_str(), 0), 0);
  EXPECT_EQ(carry_out().out, "done");
  EXPECT_TRUE(fs::is_empty(path("run/errors")));
  fs::create_directories(path("run/errors/moved/theirs/kept"));
  ASSERT_EQ(::lchown(path("run/errors/moved").c_str(), kJob, kJob), 0);
  ASSERT_EQ(::lchown(path("run/errors/moved/theirs").c_str(), kOther, kOther), 0);
  EXPECT_THAT(carry_out().out, HasSubstr("may not remove itself"));
  EXPECT_TRUE(fs::exists(path("run/errors/moved/theirs/kept")));
}

TEST_F(Resolve, MakesDirectoriesInMorePlacesThanItKeeps) {
  envgen::Plan plan;
  for (const std::string name : {"first", "second"}) {
    for (int i = 0; i < 20; ++i) {
      plan.directories.push_back({path("run/" + std::to_string(i) + "/" + name)});
    }
  }
  plan.files = {{.path = path("run/0/second/file"), .mode = 0600, .content = std::string("here")}};
  ASSERT_TRUE(engine::carry_out_files(plan));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(fs::is_directory(path("run/" + std::to_string(i) + "/second"))) << i;
  }
  EXPECT_EQ(read(path("run/0/second/file")), "here");
}

TEST_F(Resolve, SourcesThePlansScriptsAndAddsWhatTheyChange) {
  snapshot_.env.set("BASE", "base");
  const std::string script = write("activate.sh", "export ADDED=\"$BASE $FROM_PLAN\"\n");
  auto planner = [&](envgen::Snapshot&, const envgen::Request&) {
    envgen::Plan plan;
    plan.env = {{base::EnvEdit::Kind::kSet, "FROM_PLAN", "plan"}};
    plan.scripts = {script};
    plan.shell = "/bin/sh";
    return envgen::Answer{envgen::Planned{plan}, {}};
  };
  EXPECT_EQ(run({}, planner), 0);
  ASSERT_TRUE(plan_);
  ASSERT_EQ(plan_->env.size(), 2U);
  EXPECT_EQ(plan_->env[0].name, "FROM_PLAN") << "the scripts' come after";
  EXPECT_EQ(plan_->env[1], (base::EnvEdit{base::EnvEdit::Kind::kSet, "ADDED", "base plan"}));
}

TEST_F(Resolve, TellsTheLinkByWhatItsNodesKnowOneAnother) {
  auto planner = [](envgen::Snapshot&, const envgen::Request&) {
    envgen::Plan plan;
    plan.cluster.emplace().nodes.resize(2);
    plan.cluster->nodes[0].host = "a";
    plan.link = envgen::NodeLink{.node_rank = 1, .node_count = 2};
    return envgen::Answer{envgen::Planned{plan}, {}};
  };
  run({}, planner);
  ASSERT_TRUE(plan_ && plan_->link);
  EXPECT_THAT(plan_->link->names, ElementsAre("a"));
  EXPECT_NE(plan_->link->cluster, 0U);
  EXPECT_NE(plan_->link->common, "");
  EXPECT_EQ(plan_->link->secret, "");

  request_.job_secret = write("secret", "0123456789abcdef", 0400);
  run({}, planner);
  EXPECT_EQ(plan_->link->secret, "0123456789abcdef");
  EXPECT_EQ(plan_->link->common, "") << "one with another list is told so";
}

TEST_F(Resolve, WaitsForARenameOntoTheTable) {
  put_table(kInitializing);
  EXPECT_EQ(run([&](const std::string&) { rename_table(table_of(1)); }), 0);
  EXPECT_THAT(reasons_, ElementsAre(AllOf(HasSubstr(path("config/jobstart_hccl.json")),
                                          HasSubstr("initializing"))));
  EXPECT_TRUE(plan_);
}

TEST_F(Resolve, WaitsForAWriterThatTruncatesInPlace) {
  put_table(kInitializing);
  const std::string whole = table_of(1);
  EXPECT_EQ(run([&](const std::string& reason) {
              if (reason.find("initializing") != std::string::npos) {
                put_table("");
              } else if (reason.find("empty") != std::string::npos) {
                put_table(whole.substr(0, whole.size() / 2));
              } else {
                put_table(whole);
              }
            }),
            0);
  EXPECT_EQ(reasons_.size(), 3U);
  EXPECT_TRUE(plan_);
}

TEST_F(Resolve, WaitsForTheSwapOfAConfigMap) {
  auto publish = [this](const std::string& version, const std::string& content) {
    fs::create_directory(path("config/" + version));
    write("config/" + version + "/jobstart_hccl.json", content);
    fs::remove(path("config/..data_tmp"));
    fs::create_symlink(version, path("config/..data_tmp"));
    fs::rename(path("config/..data_tmp"), path("config/..data"));
  };
  publish("..1", kInitializing);
  fs::create_symlink("..data/jobstart_hccl.json", path("config/jobstart_hccl.json"));
  EXPECT_EQ(run([&](const std::string&) {
              publish("..2", table_of(1));
              fs::remove_all(path("config/..1"));
            }),
            0);
  EXPECT_TRUE(plan_);
}

TEST_F(Resolve, WaitsForATableThatIsNotThereYet) {
  EXPECT_EQ(run([&](const std::string&) { put_table(table_of(1)); }), 0);
  EXPECT_THAT(reasons_, ElementsAre(HasSubstr("does not exist")));
}

TEST_F(Resolve, WaitsForADirectoryThatIsNotThereYet) {
  fs::remove(path("config"));
  EXPECT_EQ(run([&](const std::string&) {
              fs::create_directory(path("config"));
              put_table(table_of(1));
            }),
            0);
}

TEST_F(Resolve, SaysAReasonOnlyWhenItChanges) {
  put_table(kInitializing);
  request_.rank_table_timeout_ms = 700;  // several looks
  EXPECT_EQ(run(), 69);
  EXPECT_EQ(reasons_.size(), 1U);
}

TEST_F(Resolve, EndsWith69AndTheLastReasonWhenItWaitedTooLong) {
  // The second look may come later.
  for (const std::int64_t timeout_ms : {250, 2500, 25'000}) {
    put_table("");
    request_.rank_table_timeout_ms = timeout_ms;
    const auto start = sys::monotonic_ms();
    EXPECT_EQ(run([&](const std::string&) { put_table(kInitializing); }), 69);
    EXPECT_GE(sys::monotonic_ms() - start, timeout_ms);
    EXPECT_LT(sys::monotonic_ms() - start, timeout_ms + kAtOnceMs);
    ASSERT_TRUE(failed_);
    if (failed_->message.contains("initializing")) break;
  }
  EXPECT_EQ(failed_->exit_code, 69);
  EXPECT_THAT(failed_->message,
              AllOf(HasSubstr("initializing"), HasSubstr(path("config/jobstart_hccl.json")),
                    HasSubstr("--rank-table-timeout"), Not(HasSubstr("empty"))));
  EXPECT_FALSE(plan_);
}

TEST_F(Resolve, LooksOnceWhenItMayNotWait) {
  request_.rank_table_timeout_ms = 0;
  put_table(table_of(1));
  EXPECT_EQ(run(), 0);
  put_table(kInitializing);
  EXPECT_EQ(run(), 69);
}

TEST_F(Resolve, TakesAnErrorForOneOnceItHasStood) {
  put_table("// the table\n" + table_of(1));
  const auto start = sys::monotonic_ms();
  EXPECT_EQ(run(), 125);
  EXPECT_GE(sys::monotonic_ms() - start, 900);  // a writer might have been at work
  ASSERT_TRUE(failed_);
  EXPECT_EQ(failed_->exit_code, 125);
  EXPECT_THAT(failed_->message, HasSubstr("line 1"));
  EXPECT_THAT(failed_->message, HasSubstr(path("config/jobstart_hccl.json")));
}

TEST_F(Resolve, DoesNotWaitWithAnErrorThatNoFileCanChange) {
  request_.platform = "nowhere";
  request_.rank_table_timeout_ms = 5 * kAtOnceMs;
  const auto start = sys::monotonic_ms();
  EXPECT_EQ(run(), 125);
  EXPECT_LT(sys::monotonic_ms() - start, kAtOnceMs);
  EXPECT_THAT(failed_->message, HasSubstr("\"nowhere\""));
}

// Each look finds another error: that settles nothing, so the deadline must end it.
TEST_F(Resolve, GivesUpOnATableThatIsWrongInANewWayAtEachLook) {
  const std::string file = put_table("{");
  request_.rank_table_timeout_ms = 300;
  child::Pipe stop = child::make_pipe();
  const pid_t writer = ::fork();
  if (writer == 0) {
    stop.in.reset();
    pollfd ended{stop.out.get(), POLLIN, 0};
    for (int i = 0; ::poll(&ended, 1, 5) == 0; ++i) {
      write("config/new", "[\n" + std::string(static_cast<std::size_t>(i % 1000), '\n') + "x]");
      fs::rename(path("config/new"), file);
    }
    ::_exit(0);
  }
  const auto start = sys::monotonic_ms();
  EXPECT_EQ(run(), 125);
  EXPECT_LT(sys::monotonic_ms() - start, kAtOnceMs);
  stop.in.reset();
  child::wait_for(writer);
}

TEST_F(Resolve, NamesTheLoopOfLinks) {
  fs::create_symlink("b", path("config/a"));
  fs::create_symlink("a", path("config/b"));
  fs::create_symlink("a", path("config/jobstart_hccl.json"));
  EXPECT_EQ(run(), 125);
  EXPECT_THAT(failed_->message, HasSubstr("circle"));
}

TEST_F(Resolve, DoesNotReadATableOf200MiB) {
  fs::resize_file(put_table(""), 200ULL << 20);
  EXPECT_EQ(run(), 125);
  EXPECT_THAT(failed_->message, HasSubstr("200 MiB"));
}

TEST_F(Resolve, DoesNotOpenAFifo) {
  ASSERT_EQ(::mkfifo(path("config/jobstart_hccl.json").c_str(), 0600), 0);
  EXPECT_EQ(run(), 125);
  EXPECT_THAT(failed_->message, HasSubstr("no regular file"));
}

TEST_F(Resolve, NamesPathAndErrnoOfATableThatDoesNotFitOnTheDisk) {
  put_table(table_of(16));
  const std::string run_dir = path("run");
  constexpr int kNoMount = 77;
  auto outcome = child::run([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        ::mount("tmpfs", run_dir.c_str(), "tmpfs", 0, "size=4k") != 0) {
      return kNoMount;
    }
    write("run/filler", std::string(4096, 'x'));
    request_.log_dir = path("home");
    const int code = run();
    child::say(STDOUT_FILENO, failed_ ? failed_->message : "no failure");
    return code;
  });
  if (outcome.code == kNoMount) GTEST_SKIP() << "may not mount";
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.out, HasSubstr(path("run/rank_table/jobstart_hccl.json")));
  EXPECT_THAT(outcome.out, HasSubstr("ENOSPC"));
}

TEST_F(Resolve, NamesTheDirectoryThatCannotBeMade) {
  put_table(table_of(1));
  write("home/device0", "a file");
  EXPECT_EQ(run(), 125);
  EXPECT_THAT(failed_->message, AllOf(HasSubstr(path("home/device0")), HasSubstr("ENOTDIR")));
}

TEST_F(Resolve, EmptiesTheDeviceDirectoriesOnRequestOnly) {
  put_table(table_of(1));
  fs::create_directory(path("home/device0"));
  write("home/device0/kernel_cache", "x");
  EXPECT_EQ(run(), 0);
  EXPECT_TRUE(fs::exists(path("home/device0/kernel_cache")));
  request_.clean_device_dirs = true;
  EXPECT_EQ(run(), 0);
  EXPECT_FALSE(fs::exists(path("home/device0/kernel_cache")));
  EXPECT_TRUE(fs::exists(path("home/device0")));
}

TEST_F(Resolve, EndsWhenNobodyTakesThePlan) {
  put_table(table_of(1));
  EXPECT_EQ(engine::resolve_and_prepare(snapshot_, request_, [](const auto&) { return false; }),
            125);
}

TEST_F(Resolve, EndsWith69WhenTooFewNodesCome) {
  request_.rank_table_timeout_ms = 100;
  EXPECT_EQ(run({},
                [](envgen::Snapshot&, const envgen::Request&) {
                  return envgen::Answer{
                      envgen::Pending{{}, "the job's nodes", "2 of at least 3 (--min-nodes)"}, {}};
                }),
            69);
  EXPECT_THAT(reasons_, ElementsAre("the job's nodes: 2 of at least 3 (--min-nodes)"));
  EXPECT_THAT(failed_->message,
              AllOf(HasSubstr("2 of at least 3"), HasSubstr("lower --min-nodes"),
                    HasSubstr("--rank-table-timeout"), Not(HasSubstr("rank table"))));
}

// --- The meeting before a restart ---

// A resolver and what it has told.
struct Told {
  std::vector<ResolverMessage> messages;
  Resolver resolver{[this](ResolverMessage one) { messages.push_back(std::move(one)); }};

  // What one look finds.
  std::vector<ResolverMessage> look() {
    messages.clear();
    resolver.read();
    return std::move(messages);
  }
  bool await() const {
    pollfd ready{resolver.channel(), POLLIN, 0};
    return ::poll(&ready, 1, 180'000) == 1;
  }
  std::vector<ResolverMessage> all() {
    messages.clear();
    while (resolver.channel() >= 0 && await()) resolver.read();
    return std::move(messages);
  }
};

// --- The child and its pipe ---

TEST_F(Resolve, InAChildTellsTheSameByThePipe) {
  put_table(kInitializing);
  Told told;
  ASSERT_TRUE(told.resolver.start(snapshot_, request_, {}));
  ASSERT_TRUE(told.await());
  auto messages = told.look();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_THAT(std::get<ResolverWaits>(messages[0]).reason, HasSubstr("initializing"));
  EXPECT_TRUE(told.look().empty());  // and does not block
  rename_table(table_of(8));
  messages = told.all();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(std::get<envgen::Plan>(messages[0]).processes.size(), 8U);
  EXPECT_EQ(child::wait_for(told.resolver.pid()), 0);
}

TEST_F(Resolve, InAChildThatRunsOutOfMemorySaysSo) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs the address space";
  put_table("[" + std::string(100U << 20, ' ') + "]");
  auto outcome = child::run([&] {
    const rlimit small{80U << 20, 80U << 20};
    ::setrlimit(RLIMIT_AS, &small);
    Told told;
    if (!told.resolver.start(snapshot_, request_, {})) return 1;
    auto messages = told.all();
    if (messages.size() != 1) return 2;
    child::say(STDOUT_FILENO, std::get<ResolverFailed>(messages[0]).message);
    return child::wait_for(told.resolver.pid());
  });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.out, HasSubstr("too little memory"));
}

// --- The wire ---

class ResolverMessages : public testing::Test {
 protected:
  ResolverMessages() : pipe_(child::make_pipe()) {
    ::fcntl(pipe_.out.get(), F_SETFL, O_NONBLOCK);
    told_.resolver.adopt(0, std::move(pipe_.out));
  }

  static std::string number(std::uint32_t value) {
    return {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16),
            static_cast<char>(value >> 24)};
  }
  static std::string message(std::uint32_t kind, const std::string& payload) {
    return number(kind) + number(static_cast<std::uint32_t>(payload.size())) + payload;
  }
  static std::string waits(const std::string& reason) {
    return message(1, base::to_wire(ResolverWaits{reason}));
  }
  std::vector<ResolverMessage> after(const std::string& bytes) {
    child::say(pipe_.in.get(), bytes);
    return told_.look();
  }
  void expect_failure(const std::vector<ResolverMessage>& messages, int code,
                      const std::string& text) {
    ASSERT_EQ(messages.size(), 1U);
    ASSERT_TRUE(std::holds_alternative<ResolverFailed>(messages[0]));
    EXPECT_EQ(std::get<ResolverFailed>(messages[0]).exit_code, code);
    EXPECT_THAT(std::get<ResolverFailed>(messages[0]).message, HasSubstr(text));
    EXPECT_EQ(told_.resolver.channel(), -1);
  }

  child::Pipe pipe_;
  Told told_;
};

TEST_F(ResolverMessages, ComeWhenTheyAreWhole) {
  const std::string bytes = waits("reason");
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    EXPECT_TRUE(after(bytes.substr(i, 1)).empty()) << i;
  }
  auto messages = after(bytes.substr(bytes.size() - 1));
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(std::get<ResolverWaits>(messages[0]).reason, "reason");
}

TEST_F(ResolverMessages, ComeInOrderAndSeveralAtATime) {
  auto messages =
      after(waits("a") + waits("") + message(2, base::to_wire(ResolverFailed{69, "late"})));
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(std::get<ResolverWaits>(messages[1]).reason, "");
  EXPECT_EQ(std::get<ResolverFailed>(messages[2]).exit_code, 69);
  EXPECT_EQ(std::get<ResolverFailed>(messages[2]).message, "late");
}

TEST_F(ResolverMessages, OfAnUnknownKindAreADamagedMessage) {
  expect_failure(after(message(0, "x")), 125, "damaged");
}

TEST_F(ResolverMessages, OfAKindTooHighAreADamagedMessage) {
  expect_failure(after(message(4, "")), 125, "damaged");
}

TEST_F(ResolverMessages, ThatClaimToBeHugeAreADamagedMessageAtOnce) {
  expect_failure(after(number(3) + number(0xffffffff)), 125, "damaged");
}

TEST_F(ResolverMessages, WithADamagedPlanAreAFailure) {
  expect_failure(after(message(3, "no plan")), 125, "damaged plan");
}

TEST_F(ResolverMessages, OfAFailureWithoutACodeAreOursToAnswerFor) {
  expect_failure(after(message(2, "")), 125, "damaged");
}

TEST_F(ResolverMessages, EndWithTheAnswer) {
  envgen::Plan plan;
  envgen::Process process;
  process.argv = {"x"};
  plan.processes = {process};
  const std::string answer = message(3, envgen::encode_plan(plan));
  EXPECT_EQ(after(answer + answer + waits("more")).size(), 1U);
  EXPECT_EQ(told_.resolver.channel(), -1);
  EXPECT_TRUE(after(answer).empty());
}

TEST_F(ResolverMessages, EndWithThePipe) {
  EXPECT_TRUE(after(waits("half").substr(0, 9)).empty());
  pipe_.in.reset();
  EXPECT_TRUE(told_.look().empty());
  EXPECT_EQ(told_.resolver.channel(), -1);
}

// A writer that never stops must not keep the reader.
TEST_F(ResolverMessages, AreReadForATurnOnly) {
  const pid_t flood = ::fork();
  if (flood == 0) {
    const std::string reason = waits(std::string(30'000, 'x'));
    while (::write(pipe_.in.get(), reason.data(), reason.size()) > 0) {
    }
    ::_exit(0);
  }
  std::size_t bytes = 0;
  ASSERT_TRUE(told_.await());
  for (const ResolverMessage& message : told_.look()) {
    bytes += std::get<ResolverWaits>(message).reason.size();
  }
  EXPECT_LE(bytes, 8U << 20);
  ::kill(flood, SIGKILL);
  child::wait_for(flood);
}

}  // namespace
