// What stands by costs the job nothing: no CPU, and no memory that the job wants.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/rules/lifecycle/warm.h"

namespace {

using rules::Result;
using rules::Spec;
using testing::HasSubstr;

class WarmCost : public rules::WarmTest {};
RULES_EITHER_WAY(WarmCost);

// The rank works until it has had half a second of a CPU: PID 1 has looked at the other by then, or
// has not.
TEST_P(WarmCost, WaitingTakesNoCpu) {
  const Result result = rules::run(job(R"(
if start == 0:
    import time
    pid = ready(1)[0]
    def look():
        with open('/proc/%s/stat' % pid) as file:
            words = file.read().rpartition(')')[2].split()
        return words[0], int(words[11]) + int(words[12])
    while look()[0] != 'S':
        time.sleep(0.001)
    before = look()
    while time.process_time() < 0.5:
        pass
    tell('ticks', str(look()[1] - before[1]))
)",
                                       {"--warm", "helper"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("ticks"), "0");
}

TEST_P(WarmCost, OneThatGrowsIsReplacedAFewTimes) {
  write("lib/grows.py", R"(import os, threading, time
def grow():
    ready = '"warm": "ready: pid %d,' % os.getpid()
    while True:
        with open(os.environ['TRAINIT_RUN_DIR'] + '/state.json') as file:
            if ready in file.read():
                break
        time.sleep(0.005)
    with open(os.environ['HERE'] + '/grown', 'a') as file:
        file.write('one\n')
    global held
    held = bytearray(b'x') * (200 << 20)
threading.Thread(target=grow, daemon=True).start()
)");
  const Result result = rules::run(job(R"(
if start == 0:
    state_has('given up: what stood by has grown')
    os._exit(7)
)",
                                       {"--warm", "grows"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("grown")), "one\none\none\n");
  EXPECT_THAT(result.err, HasSubstr("warm: main restarts cold: what stood by has grown"));
}

// There a kill takes the job with it.
TEST_P(WarmCost, WhereTheKernelKillsTheWholeGroupMoreHasToBeFree) {
  if (!GetParam()) GTEST_SKIP() << "needs a mount namespace";
  write("meminfo", "MemTotal: 1000000 kB\nMemAvailable: 600000 kB\n");
  std::filesystem::create_directory(path("groups"));
  write("groups/memory.oom.group", "1\n");
  write("group", "0::/\n");
  Spec spec = job(R"(
if start == 0:
    ready(1)
    memory(20)
    state_has('none: less than')
    memory(45)
    state_has('none: less than half')
    memory(55)
    ready(1)
    os._exit(7)
)",
                  {"--warm", "helper"});
  const auto bind = [](const std::string& from, const char* to) {
    if (::mount(from.c_str(), to, nullptr, MS_BIND, nullptr) != 0) ::_exit(98);
  };
  const std::string here = path("");
  spec.before = [bind, here] {
    bind(here + "/meminfo", "/proc/meminfo");
    bind(here + "/groups", "/sys/fs/cgroup");
    bind(here + "/group", "/proc/self/cgroup");
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
}

}  // namespace
