// Warm restarts: a process that stands by is the rank of the next start, and nobody can tell it
// from one that was started cold.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::EitherWay;
using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What a rank's program begins with. `start`: how often the job was started before. ready() waits
// until processes stand by for so many ranks, and gives their pids; or until the state has a text.
constexpr const char* kPrelude = R"(import os
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
    state_has('"warm": "ready', count)
    pids = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/environ' % pid, 'rb') as file:
                if b'TRAINIT_WARM_PARK=' in file.read():
                    pids.append(pid)
        except OSError:
            continue
    return sorted(pids)

def tell(name, text):
    path = os.path.join(os.environ['PAYLOAD_OUT'], name)
    with open(path + '.new', 'w') as file:
        file.write(text)
    os.rename(path + '.new', path)
)";

// It says when it is imported, which is once a process.
constexpr const char* kHelper = "import os\npid = os.getpid()\n";

class Warm : public EitherWay {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
    std::filesystem::create_directories(path("lib"));
    write("lib/helper.py", kHelper);
  }
  [[nodiscard]] Spec job(const std::string& program, const Words& options = {},
                         const Words& command = {}) const {
    write("train.py", kPrelude + program);
    Words words = {"--max-restarts", "3", "--restart-delay", "0", "--restart-verdict", "tell"};
    words = joined(std::move(words), options);
    words.emplace_back("--");
    words =
        joined(std::move(words),
               command.empty() ? Words{"/usr/bin/python3", "-u", path("train.py"), "a"} : command);
    Spec result = spec(std::move(words));
    result.env.push_back("PYTHONPATH=" + path("lib") + ":" + path(""));
    return result;
  }
};
RULES_EITHER_WAY(Warm);

constexpr const char* kFailOnce = R"(
if start == 0:
    tell('spares', ' '.join(ready(1)))
    os._exit(7)
tell('second', str(os.getpid()) + (' warm' if helper.pid == os.getpid() else ' other'))
)";

// All that a process can see of itself, but for what is another one at each start.
constexpr const char* kFacts = R"(
def facts():
    import re
    import resource
    import signal
    import threading
    import traceback
    pid = os.getpid()
    lines = []
    def add(name, value):
        lines.append('%s: %s' % (name, value))
    changing = ('TRAINIT_RESTART_COUNT', 'MASTER_PORT', 'TORCHELASTIC_RESTART_COUNT')
    for name in sorted(os.environ):
        add('env ' + name, '' if name in changing else os.environ[name])
    for name in ('argv', 'orig_argv', 'path', 'flags', 'executable', 'warnoptions', 'prefix'):
        add(name, getattr(sys, name, None))
    with open('/proc/self/cmdline') as file:
        add('cmdline', file.read())
    add('cwd', os.getcwd())
    add('ids', (os.getresuid(), os.getresgid(), os.getgroups()))
    add('session', (os.getsid(0) == pid, os.getpgrp() == pid, os.getppid() == 1))
    for signum in signal.valid_signals():
        add('signal %d' % signum, signal.getsignal(signum))
    add('mask', signal.pthread_sigmask(signal.SIG_BLOCK, []))
    with open('/proc/self/status') as file:
        wanted = ('Umask', 'Uid', 'Gid', 'Sig', 'Shd', 'Cap', 'NoNewPrivs', 'Seccomp', 'Cpus_a',
                  'Threads', 'TracerPid')
        for line in file:
            if line.startswith(wanted) and not line.startswith('SigQ'):
                add('status', line.strip())
    for name in ('oom_score_adj', 'autogroup', 'timerslack_ns'):
        try:
            with open('/proc/self/' + name) as file:
                text = file.read().strip()
                add(name, text.split(' ')[-1])
        except OSError:
            pass
    for name in sorted(dir(resource)):
        if name.startswith('RLIMIT_'):
            add(name, resource.getrlimit(getattr(resource, name)))
    add('nice', (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)))
    for fd in range(1024):
        try:
            target = os.readlink('/proc/self/fd/%d' % fd)
        except OSError:
            continue
        kind = target.split(':')[0] if ':' in target else target
        kind = kind.replace('/%d' % pid, '/PID')
        add('fd', (fd, kind, os.get_inheritable(fd)))
    main = sys.modules['__main__']
    for name in sorted(main.__dict__):
        if name.startswith('__'):
            value = main.__dict__[name]
            if name == '__loader__':
                value = (type(value), getattr(value, 'name', ''), getattr(value, 'path', ''))
            if name != '__builtins__':
                add('main ' + name, re.sub('0x[0-9a-f]+', '', str(value)))
    for name in ('stdin', 'stdout', 'stderr'):
        stream = getattr(sys, name)
        add(name, (stream.name, stream.encoding, stream.errors, stream.line_buffering,
                   stream.write_through, stream.isatty(), stream.newlines))
    add('threads', threading.enumerate()[0].name + str(len(threading.enumerate())))
    add('stack', [(frame.name, frame.filename) for frame in traceback.extract_stack()])
    add('modules', sorted(name for name in sys.modules if 'trainit' in name or 'custom' in name))
    add('children', os.path.exists('/proc/self/task/%d/children' % pid) and
        open('/proc/self/task/%d/children' % pid).read())
    return '\n'.join(lines) + '\n'
)";

// Fails once; `condition` is waited for before. The second start tells its facts.
std::string told_facts(const std::string& condition) {
  return std::string(kFacts) + R"(
if start == 0:
    )" + condition +
         R"(
    os._exit(7)
tell('facts-' + rank, facts())
print('printed by', rank)
print('and this is an error', file=sys.stderr)
)";
}

TEST_P(Warm, WhatStandsByIsTheRankOfTheNextStart) {
  const Result result = rules::run(job(kFailOnce, {"--warm", "helper"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), told("spares") + " warm");
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
}

// A process that stands by and one that is started cold see the same, on their second start.
class AsCold : public Warm {
 protected:
  // What each rank told, behind what came out.
  std::string start(const Words& options, const std::string& program, int ranks,
                    const Words& command = {}) {
    std::filesystem::remove_all(path("run"));
    for (int rank = 0; rank < ranks; ++rank) {
      std::filesystem::remove(path("out/facts-" + std::to_string(rank)));
    }
    const Result result = rules::run(job(program, options, command));
    EXPECT_EQ(result.code, 0) << result.err;
    // Two ranks print when they come to it.
    std::vector<std::string> lines;
    std::istringstream stream(result.out);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    for (int rank = 0; rank < ranks; ++rank) text += told("facts-" + std::to_string(rank));
    EXPECT_EQ(result.err.find("restart, warm") != std::string::npos,
              std::ranges::find(options, "--warm") != options.end())
        << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("restart, cold")));
    return text;
  }
  void compare(const Words& options, int ranks, const Words& command = {}) {
    std::filesystem::create_directory(path("elsewhere"));
    const std::string both = "state_has('\"warm\": \"ready', " + std::to_string(ranks) + ")";
    const std::string warm =
        start(joined(options, {"--warm", "helper"}), told_facts(both), ranks, command);
    const std::string cold = start(options, told_facts("pass"), ranks, command);
    EXPECT_THAT(cold, HasSubstr("main __name__: __main__"));
    EXPECT_EQ(warm, cold);
  }
};
RULES_EITHER_WAY(AsCold);

TEST_P(AsCold, AsASingleCommand) { compare({}, 1); }

TEST_P(AsCold, AsRanksWithTheirOutputInFiles) {
  compare({"--fan-out", "--slots", "2", "--output", "files"}, 2);
  EXPECT_THAT(log_of(1), AllOf(HasSubstr("printed by 1"), HasSubstr("and this is an error")));
}

TEST_P(AsCold, AsRanksThroughTheTee) {
  compare({"--fan-out", "--slots", "2", "--output", "tee"}, 2);
}

TEST_P(AsCold, AsAModule) {
  compare({}, 1, {"/usr/bin/python3", "-X", "utf8", "-Wdefault", "-um", "train", "-x"});
}

TEST_P(AsCold, AsAnotherUserWhoIsConfined) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(path("out"), std::filesystem::perms::all);
  compare({"--fan-out", "--slots", "2", "--output", "files", "--user", "12345:12345", "--rlimit",
           "nofile=512", "--umask", "027", "--oom-score-adj", "300", "--no-new-privs"},
          2);
}

}  // namespace
