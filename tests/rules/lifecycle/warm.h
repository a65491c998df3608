#pragma once
// Jobs with --warm: what stands by is seen in the state, and told by programs that say what they
// see.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "tests/rules/lifecycle/lifecycle.h"

namespace rules {

// What a rank's program begins with. `start`: how often the job was started before. ready() waits
// until processes stand by for so many ranks, and gives their pids; or until the state has a text.
inline constexpr const char* kPrelude = R"(import os
import sys
import helper
start = int(os.environ['TRAINIT_RESTART_COUNT'])
rank = os.environ.get('RANK', '0')
here = os.environ['HERE']

def state_has(text, count=1):
    import time
    while True:
        try:
            with open(os.environ['TRAINIT_RUN_DIR'] + '/state.json') as file:
                if file.read().count(text) >= count:
                    return
        except OSError:
            pass
        time.sleep(0.005)

def ready(count):
    import re
    import time
    state_has('{')
    while True:
        with open(os.environ['TRAINIT_RUN_DIR'] + '/state.json') as file:
            pids = re.findall('"warm": "ready: pid ([0-9]+)', file.read())
        if len(pids) >= count:
            return pids
        time.sleep(0.005)

def meet(count):
    import time
    tell('up-' + rank, '')
    while not all(os.path.exists(os.environ['PAYLOAD_OUT'] + '/up-%d' % i) for i in range(count)):
        time.sleep(0.005)

def memory(percent):  # that is free, by the file that stands for /proc/meminfo
    with open(here + '/meminfo', 'r+') as file:
        file.write('MemTotal: 1000000 kB\nMemAvailable: %06d kB\n' % (percent * 10000))

def tell(name, text):
    path = os.path.join(os.environ['PAYLOAD_OUT'], name)
    with open(path + '.new', 'w') as file:
        file.write(text)
    os.rename(path + '.new', path)
)";

// What it prints while it is imported is the rank's to print.
inline constexpr const char* kHelper =
    "import os\npid = os.getpid()\nprint('helper is imported')\n";
// A Python program that can be warm, and a module `helper` that it may have been warmed with.
class WarmTest : public LifecycleTest {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
    std::filesystem::create_directories(path("lib"));
    write("lib/helper.py", kHelper);
  }
  [[nodiscard]] Spec job(const std::string& program, const Words& options = {},
                         const Words& command = {}) const {
    write("train.py", kPrelude + program);
    Words words = {"--hooks-dir",     path("hooks"), "--max-restarts",    "3",
                   "--restart-delay", "0",           "--restart-verdict", "tell"};
    words = joined(std::move(words), options);
    words.emplace_back("--");
    words =
        joined(std::move(words),
               command.empty() ? Words{"/usr/bin/python3", "-u", path("train.py"), "a"} : command);
    Spec result = spec(std::move(words));
    result.env.push_back("PYTHONPATH=" + path("lib") + ":" + path(""));
    if (result.pid1) result.before = [here = with_free_memory()] { show_free_memory(here); };
    return result;
  }

 private:
  // What other tests hold is nothing that decides here: with less than a quarter of the machine, or
  // of this test's cgroup, nothing would stand by.
  [[nodiscard]] std::string with_free_memory() const {
    std::istringstream meminfo(read("/proc/meminfo"));
    std::string name;
    long total_kb = 0;
    meminfo >> name >> total_kb;  // MemTotal is its first line
    write("free-meminfo", "MemTotal: " + std::to_string(total_kb) +
                              " kB\nMemAvailable: " + std::to_string(total_kb / 10 * 9) + " kB\n");
    std::filesystem::create_directory(path("no-groups"));
    return path("");
  }
  // In the new process, whose mount namespace is its own. A machine without cgroups needs none.
  static void show_free_memory(const std::string& here) {
    std::ignore =
        ::mount((here + "free-meminfo").c_str(), "/proc/meminfo", nullptr, MS_BIND, nullptr);
    std::ignore =
        ::mount((here + "no-groups").c_str(), "/sys/fs/cgroup", nullptr, MS_BIND, nullptr);
  }
};
}  // namespace rules
