// Warm restarts: a process that stands by is the rank of the next start, and what it computes is
// what one computes that was started cold.

#include "tests/rules/lifecycle/warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

using rules::Instance;
using rules::joined;
using rules::kPrelude;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Warm : public rules::WarmTest {};
RULES_EITHER_WAY(Warm);

constexpr const char* kFailOnce = R"(
if start == 0:
    spares = ready(1)
    tell('spares', ' '.join(spares))
    with open('/proc/%s/oom_score_adj' % spares[0]) as file:
        tell('oom', file.read())
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
                   stream.write_through, stream.isatty(), stream.newlines,
                   name != 'stdin' and stream.seekable()))
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
  EXPECT_EQ(told("second"), told("spares") + " warm") << result.err;
  EXPECT_EQ(told("oom"), "1000\n") << "the kernel takes it first";
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
  EXPECT_THAT(tool({"report", path("run")}).out, HasSubstr("warm: main stood by"));
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
      std::filesystem::remove(path("out/up-" + std::to_string(rank)));
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
    // A spare can be ready before its rank has imported, and printed, anything.
    const std::string all = "meet(" + std::to_string(ranks) + ")";
    const std::string ready = "state_has('\"warm\": \"ready', " + std::to_string(ranks) + ")";
    const std::string warm = start(joined(options, {"--warm", "helper"}),
                                   told_facts(all + "; " + ready), ranks, command);
    const std::string cold = start(options, told_facts(all), ranks, command);
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

// --- One that dies, and what ends it ---

// Its memory is the machine's again when trainit has ended.
TEST_P(Warm, NothingThatStoodByIsLeft) {
  write("lib/large.py", "held = bytearray(200 << 20)\n");
  const Result result =
      rules::run(job("\ntell('spares', ' '.join(ready(1)))\n", {"--warm", "large"}));
  EXPECT_EQ(result.code, 0) << result.err;
  if (GetParam()) return;  // its pids are another namespace's, which has ended
  EXPECT_THAT(read("/proc/" + told("spares") + "/status"), Not(HasSubstr("VmRSS")));
}

TEST_P(Warm, OneThatDiesIsReplaced) {
  const Result result = rules::run(job(R"(
if start == 0:
    first = ready(1)
    os.kill(int(first[0]), 9)
    second = first
    while second == first:
        second = ready(1)
    tell('spares', ' '.join(second))
    os._exit(7)
tell('second', str(os.getpid()))
)",
                                       {"--warm", "helper"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), told("spares"));
  EXPECT_THAT(result.err, Not(HasSubstr("SIGKILL ended it")));
}

TEST_P(Warm, ThreeThatDieAreTheLast) {
  const Result result = rules::run(job(R"(
if start == 0:
    killed = set()
    while len(killed) < 3:
        for pid in set(ready(1)) - killed:
            os.kill(int(pid), 9)
            killed.add(pid)
    state_has('given up')
    os._exit(7)
)",
                                       {"--warm", "helper"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warm: main restarts cold: what stood by does not: "
                                          "SIGKILL ended it"),
                                HasSubstr("restart, cold: main")));
}

TEST_P(Warm, AStopEndsItAtOnceWhateverItDoes) {
  make_fifo("never");
  write("lib/slow.py",
        "import signal\nsignal.signal(15, signal.SIG_IGN)\nopen('" + path("never") + "')\n");
  Instance instance(
      job("\nstate_has('\"warm\": \"importing')\ntell('importing', '')\n"
          "import signal\nsignal.pause()\n",
          {"--warm", "slow", "--grace", "1h"}));
  await_told("importing");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Warm, WithoutMemoryNoneStandsByAndThoseThatDoGoFirst) {
  if (!GetParam()) GTEST_SKIP() << "needs a mount namespace";
  write("meminfo", "MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n");
  Spec spec = job(R"(
if start == 0:
    ready(1)
    memory(20)
    os._exit(7)
if start == 1:
    state_has('none: less than a quarter')
    memory(40)
    ready(1)
    memory(5)
    state_has('none: less than a')
)",
                  {"--warm", "helper"});
  const std::string fake = path("meminfo");
  spec.before = [fake] {
    if (::mount(fake.c_str(), "/proc/meminfo", nullptr, MS_BIND, nullptr) != 0) ::_exit(98);
  };
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
}

TEST_P(Warm, SeesWhatHasComeToItsPathSince) {
  const std::string directory = "'" + path("comes") + "'";
  Spec late =
      job("\nif start == 0:\n    ready(1)\n    os.mkdir(" + directory + ")\n    open(" + directory +
              " + '/late.py', 'w').close()\n    os._exit(7)\n"
              "import late\ntell('second', late.__file__)\n",
          {"--warm", "helper"});
  late.env.back() += ":" + path("comes");
  const Result result = rules::run(late);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), path("comes/late.py"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("restart, warm: main"), Not(HasSubstr("restart 2"))));
}

// As torch.ops is.
TEST_P(Warm, WithAModuleThatIsNoFile) {
  write("lib/odd.py",
        "import sys, types\nfor name in ('_ops.py', '/no/such/file.py'):\n"
        "    sys.modules[name] = types.ModuleType(name)\n    sys.modules[name].__file__ = name\n");
  const Result result = rules::run(job(kFailOnce, {"--warm", "helper,odd"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), told("spares") + " warm");
  EXPECT_THAT(result.err, Not(HasSubstr("cold all the same")));
}

// As that of conda.
TEST_P(Warm, WithAPythonForAnOlderCLibrary) {
  for (int minor = 8; minor < 20; ++minor) {
    const std::string place = "base/lib/python3." + std::to_string(minor) + "/site-packages";
    std::filesystem::create_directories(path(place));
    write(place + "/older.pth", "import os; os.__dict__.pop('memfd_create', None)\n");
  }
  Spec older = job(kFailOnce, {"--warm", "helper"});
  older.env.push_back("PYTHONUSERBASE=" + path("base"));
  const Result result = rules::run(older);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), told("spares") + " warm") << result.err;
  EXPECT_THAT(result.out, HasSubstr("helper is imported"));
}

// Two nodes with a rank each, on this machine.
class WarmNodes : public Warm {
 protected:
  void run_nodes(const std::string& program, const std::string& modules) {
    const rules::LocalNodes nodes(2);
    const auto node = [&](int number) {
      Spec one =
          job(program, joined(nodes.options(number),
                              {"--output", "files", "--restart-across-nodes", "--warm", modules}));
      for (std::string& entry : one.env) {
        if (entry.starts_with("TRAINIT_RUN_DIR="))
          entry = "TRAINIT_RUN_DIR=" + path("run" + std::to_string(number));
      }
      return one;
    };
    Instance first(node(0));
    Instance second(node(1));
    EXPECT_EQ(first.wait(), 0) << first.err();
    EXPECT_EQ(second.wait(), 0) << second.err();
    EXPECT_THAT(first.err(), HasSubstr("restart, warm: rank-0"));
    EXPECT_THAT(second.err(), HasSubstr("restart, warm: rank-1"));
  }
};
RULES_EITHER_WAY(WarmNodes);

// The failure is the second node's; on the first one all that stands by awaits the verdict.
TEST_P(WarmNodes, WhichOneFails) {
  run_nodes(R"(
if start == 0:
    spares = ready(1)
    tell('spare-' + rank, spares[0])
    meet(2)
    if rank == '1':
        os._exit(7)
    state_has('never')
tell('second-' + rank, str(os.getpid()))
)",
            "helper");
  for (const std::string rank : {"0", "1"})
    EXPECT_EQ(told("second-" + rank), told("spare-" + rank));
}

// PyTorch looks for rank 0's store at once, and then only after a second.
TEST_P(WarmNodes, ARankMeetsTheFirstOnesStoreAtItsFirstLook) {
  write("lib/torch.py", R"(import os, time
nap = time.sleep
def sleep(seconds):
    out = os.environ['PAYLOAD_OUT']
    open(out + '/waits', 'w').close()
    while not os.path.exists(out + '/listens'):
        nap(0.005)
time.sleep = sleep
)");
  run_nodes(R"(
if start == 0:
    ready(1)
    meet(2)
    if rank == '1':
        os._exit(7)
    state_has('never')
import socket
import torch
place = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
def await_one(*names):
    while not any(os.path.exists(os.environ['PAYLOAD_OUT'] + '/' + name) for name in names):
        torch.nap(0.005)
if rank == '0':
    await_one('waits', 'look')
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(place)
    server.listen()
    tell('listens', '')
    await_one('look')
else:
    try:
        socket.create_connection(place)
        tell('look', 'met')
    except OSError as error:
        tell('look', str(error))
)",
            "torch");
  EXPECT_EQ(told("look"), "met");
}

// A node joins: the ranks are others, so that start is a cold one. The next one is warm again.
TEST_P(Warm, OfAnElasticJobWhoseNodesAreTheSame) {
  const auto list = [this](int count) {
    std::string servers;
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const std::string address = std::to_string(i + 1);
      servers += std::string(i == 0 ? "" : ",") + R"({"server_id":"127.0.0.)" + address +
                 R"(","device":[{"device_id":"0","device_ip":"10.0.0.)" + address +
                 R"(","rank_id":")" + number + "\"}]}";
    }
    write("table.new", R"({"version":"1.0","status":"completed","server_count":")" +
                           std::to_string(count) + R"(","server_list":[)" + servers + "]}");
    std::filesystem::rename(path("table.new"), path("table.json"));
  };
  const std::string master = std::to_string(rules::free_port());
  const std::string link = std::to_string(rules::free_port());
  const auto node = [&](const std::string& rank) {
    Spec one = job(R"(
if os.environ['WORLD_SIZE'] == '1':
    ready(1)
    tell('alone', '')
    state_has('never')
if not os.path.exists(os.environ['PAYLOAD_OUT'] + '/failed'):
    if rank == '0':
        state_has('"start": "cold: ')
    tell('spare-' + rank, ready(1)[0])
    meet(2)
    if rank == '1':
        tell('failed', '')
        os._exit(7)
    state_has('never')
tell('second-' + rank, str(os.getpid()))
)",
                   {"--platform=bare", "--framework=pytorch", "--fan-out", "--slots", "1",
                    "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", master,
                    "--link-port", link, "--output", "files", "--elastic", "--warm", "helper"});
    for (std::string& entry : one.env) {
      if (entry.starts_with("TRAINIT_RUN_DIR=")) entry = "TRAINIT_RUN_DIR=" + path("run" + rank);
    }
    one.env.push_back("RANK_TABLE_FILE=" + path("table.json"));
    return one;
  };
  list(1);
  Instance first(node("0"));
  await_told("alone");
  list(2);
  Instance second(node("1"));
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  for (const std::string rank : {"0", "1"}) {
    EXPECT_EQ(told("second-" + rank), told("spare-" + rank));
  }
  EXPECT_THAT(first.err(),
              AllOf(HasSubstr("restart, cold: rank-0: GROUP_WORLD_SIZE is another one"),
                    HasSubstr("restart, warm: rank-0")));
}

// --- What --warm auto imports ---

// What a program does above an import is done before it, also in a rank that is warm.
TEST_P(Warm, AutoStopsWhereTheProgramRunsSomething) {
  std::filesystem::create_directories(path("lib/site-packages"));
  write("lib/site-packages/late.py", "import os\nseen = os.environ.get('KNOB')\n");
  write("lib/site-packages/tool.py",
        "import os\ndef turn(*a):\n    os.environ['KNOB'] = '1'\n    return len\n");
  const Words programs = {
      R"(try:
    import no_such_module
    import late
except ImportError:
    pass
os.environ['KNOB'] = '1'
)",
      "try:\n    import no_such_module\nexcept ImportError:\n    os.environ['KNOB'] = '1'\n",
      "class A:\n    os.environ['KNOB'] = '1'\n",
      "@tool.turn\ndef f():\n    pass\n",
      "def f(a=tool.turn()):\n    pass\n",
      "class A(tool.turn() and object):\n    pass\n"};
  Spec automatic = job("", {"--warm", "auto"});
  automatic.env.back() += ":" + path("lib/site-packages");
  for (const std::string& text : programs) {
    std::filesystem::remove_all(path("run"));
    write("train.py", "import os\nimport tool\n" + text + "import late\n" + kPrelude +
                          "if start == 0:\n    ready(1)\n    os._exit(7)\n"
                          "tell('second', str(late.seen))\n");
    const Result result = rules::run(automatic);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("restart, warm: main")) << text;
    EXPECT_EQ(told("second"), "1") << text;
  }
}

TEST_P(Warm, AutoImportsUpToTheFirstLineThatDoesMore) {
  std::filesystem::create_directories(path("lib/site-packages"));
  const char* module = "import os\nstart = os.environ['TRAINIT_RESTART_COUNT']\n";
  write("lib/site-packages/late.py", module);
  write("lib/site-packages/inner.py", module);
  std::filesystem::create_directories(path("own"));
  write("own/__init__.py", "from .part import thing\nprint('own is run')\n");
  write("own/part.py", "import inner\nthing = 1\n");
  Spec automatic = job("", {"--warm", "auto"});
  automatic.env.back() += ":" + path("lib/site-packages");
  write("train.py", R"("Trains."
import sys
from own.part import inner
LIMIT = 5
def f():
    import no_such_module
if 'late' in sys.modules:
    import late
before = set(sys.modules)
)" + std::string(kPrelude) +
                        R"(
if start == 0:
    ready(1)
    os._exit(7)
import late
tell('second', '%s %s %s' % (inner.start, late.start, 'late' in before))
)");
  const Result result = rules::run(automatic);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(told("second"), "0 1 False");
  EXPECT_THAT(result.err, HasSubstr("restart, warm: main"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("own is run\n"), Not(HasSubstr("own is run\nown"))));
}

// --- Programs that could tell the difference ---

constexpr const char* kFamily = R"(
import multiprocessing
def work(number):
    return number * number, __name__, sys.argv, sys.path[0], len(sys.path)
def unload():
    print('at exit')
if __name__ == '__main__':
    import atexit
    import faulthandler
    import signal
    if start == 0:
        CONDITION
        os._exit(7)
    for method in ('fork', 'spawn', 'forkserver'):
        pool = multiprocessing.get_context(method).Pool(2)
        print(method, pool.map(work, [1, 2, 3]))
        pool.close()
        pool.join()
    atexit.register(unload)
    atexit.register(print, 'first at exit')
    signal.signal(signal.SIGUSR1, lambda *args: print('USR1'))
    os.kill(os.getpid(), signal.SIGUSR1)
    faulthandler.dump_traceback(sys.stdout, all_threads=False)
    sys.stdout.write('not flushed')
    tell('facts-0', str(multiprocessing.get_start_method()))
)";

TEST_P(AsCold, WithChildrenAtExitAndSignals) {
  const auto program = [](const std::string& condition) {
    std::string text = kFamily;
    return text.replace(text.find("CONDITION"), 9, condition);
  };
  const Words command = {"/usr/bin/python3", path("train.py")};
  const std::string warm = start({"--warm", "helper"}, program("ready(1)"), 1, command);
  const std::string cold = start({}, program("pass"), 1, command);
  EXPECT_THAT(cold, AllOf(HasSubstr("forkserver [(1, '__mp_main__'"), HasSubstr("USR1"),
                          HasSubstr("first at exit")));
  EXPECT_EQ(warm, cold);
}

// What its workers draw is told by the seed alone.
TEST_P(AsCold, WithDataLoaders) {
  if (!std::filesystem::exists("/usr/lib/python3/dist-packages/torch")) {
    GTEST_SKIP() << "needs python3-torch";
  }
  const auto program = [](const std::string& condition) {
    return R"(
class Numbers:
    def __len__(self):
        return 6
    def __getitem__(self, index):
        import torch
        return index, torch.rand(1).item(), torch.get_num_threads()
if __name__ == '__main__':
    if start == 0:
        )" +
           condition +
           R"(
        os._exit(7)
    import torch
    from torch.utils.data import DataLoader
    torch.manual_seed(5)
    for method in ('fork', 'spawn'):
        loader = DataLoader(Numbers(), batch_size=2, shuffle=True, num_workers=2,
                            multiprocessing_context=method)
        print(method, [[part.tolist() for part in batch] for batch in loader])
    tell('facts-0', str((torch.get_num_threads(), torch.get_num_interop_threads())))
)";
  };
  const Words command = {"/usr/bin/python3", path("train.py")};
  const std::string warm =
      start({"--warm", "torch,torch.utils.data"}, program("ready(1)"), 1, command);
  const std::string cold = start({}, program("pass"), 1, command);
  EXPECT_THAT(cold, AllOf(HasSubstr("fork [["), HasSubstr("spawn [[")));
  EXPECT_EQ(warm, cold);
}

TEST_P(AsCold, WhenItFails) {
  // What Python says, and how we say that it ended.
  const auto lines = [&](const Words& options, const std::string& condition) {
    std::filesystem::remove_all(path("run"));
    const Result result = rules::run(job("if start < 3:\n    " + condition + R"(
def work():
    if start == 1:
        raise ValueError('one')
    if start == 2:
        import signal
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    sys.exit()
if start == 0:
    os._exit(7)
work()
)",
                                         options));
    EXPECT_EQ(result.code, 0) << result.err;
    std::istringstream stream(result.err);
    std::string text;
    for (std::string line; std::getline(stream, line);) {
      const std::size_t killed = line.find("was killed by SIGINT");
      if (line.find("trainit:") == std::string::npos) text += line + "\n";
      if (killed != std::string::npos) text += line.substr(killed, 20) + "\n";
    }
    return text;
  };
  const std::string cold = lines({}, "pass");
  EXPECT_THAT(cold, AllOf(HasSubstr("ValueError: one"), HasSubstr("KeyboardInterrupt"),
                          HasSubstr("was killed by SIGINT")));
  EXPECT_EQ(lines({"--warm", "helper"}, "ready(1)"), cold);
}

}  // namespace
