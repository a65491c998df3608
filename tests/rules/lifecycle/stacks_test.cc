// Where the ranks of a job that hangs are: with the image's Python, and a torch.distributed that
// only waits.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::free_port;
using rules::Instance;
using rules::joined;
using rules::kRunning;
using rules::Result;
using rules::shell;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Rank 1 reads a FIFO in line 5, the others wait in a collective that is called in line 7.
constexpr const char* kJob =
    "import os, sys\n"
    "sys.path.insert(0, os.environ['HERE'] + '/site-packages')\n"
    "import torch.distributed.distributed_c10d as dist\n"
    "def load():\n"
    "    open(os.environ['HERE'] + '/never').read()\n"
    "if os.environ['RANK'] == '1': load()\n"
    "dist.all_reduce()\n";
constexpr const char* kCollective =
    "import threading\n"
    "def all_reduce():\n"
    "    threading.Event().wait()\n";

class Stacks : public rules::LifecycleTest {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
    const std::string package = path("site-packages/torch/distributed");
    std::filesystem::create_directories(package);
    write("site-packages/torch/__init__.py", "");
    write("site-packages/torch/distributed/__init__.py", "");
    write("site-packages/torch/distributed/distributed_c10d.py", kCollective);
    write("train.py", kJob);
    make_fifo("never");
  }
  [[nodiscard]] Words train() const { return {"/usr/bin/python3", path("train.py")}; }
  // `trainit stacks`, asked until it tells `text`: a program that has no CPU answers one look late.
  [[nodiscard]] Result stacks_with(const std::string& text, const Words& options = {}) const {
    const Words words = joined({"stacks"}, options);
    TestTimeout timeout;
    Result result = tool(words);
    while (result.code == 0 && !result.out.contains(text) && timeout.is_left()) {
      result = tool(words);
    }
    return result;
  }
};
RULES_EITHER_WAY(Stacks);

TEST_P(Stacks, AHangIsTheFailureOfTheRankThatTheOthersWaitFor) {
  Instance instance(
      two_ranks({"--output", "files", "--stall-timeout", "2s", "--stall-action", "end"}, train()));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_THAT(instance.err(),
              AllOf(HasSubstr("where the ranks are: the others wait for rank-1"),
                    HasSubstr("first failure: rank-1"), HasSubstr("train.py:5 in load"),
                    HasSubstr("rank-0: waits in all_reduce, train.py:7")));
  EXPECT_THAT(read(path("run/stacks/stall.json")), HasSubstr("\"suspects\": [\n    \"rank-1\""));
  EXPECT_LT(instance.err().find("makes no progress"), instance.err().find("where the ranks are"));
}

// Ranks of one node each, or of two, over the link; the job's hang is told by `train`.
class HungNodes : public Stacks {
 protected:
  Spec node(int rank, const rules::LocalNodes& nodes, const std::string& action = "end") {
    const Words options = {"--run-dir",       path("run" + std::to_string(rank)),
                           "--output",        "files",
                           "--stall-timeout", "3s",
                           "--stall-action",  action,
                           "--grace",         "1s"};
    return spec(joined(joined(nodes.options(rank), options), joined({"--"}, train())));
  }
};
RULES_EITHER_WAY(HungNodes);

TEST_P(HungNodes, AllNameTheRankThatTheOthersWaitFor) {
  // Rank 3 is on the second node. On the first one all wait.
  write("train.py",
        "import os\nos.environ['RANK'] = {'3': '1', '1': '0'}.get(os.environ['RANK'], '0')\n" +
            std::string(kJob));
  const rules::LocalNodes nodes(2, 2);
  Instance first(node(0, nodes));
  Instance second(node(1, nodes));
  EXPECT_EQ(second.wait(), 70) << second.err();
  EXPECT_EQ(first.wait(), 76) << first.err();
  const auto names_it =
      AllOf(HasSubstr("first failure: rank-3 (node 1"),
            HasSubstr("the others wait for rank-3 on node 1"), HasSubstr("train.py:7 in load"));
  EXPECT_THAT(first.err(), names_it);
  EXPECT_THAT(second.err(), names_it);
}

// The ranks talk by means that no list has, and the one that they wait for computes: its own watch
// sees progress.
constexpr const char* kOwnRing =
    "import os, socket\n"
    "def exchange():\n"
    "    ends = socket.socketpair()\n"
    "    ends[0].makefile('rb').read(1)\n"
    "def spin():\n"
    "    while True: sum(range(1000))\n"
    "spin() if os.environ['RANK'] == '1' else exchange()\n";

TEST_P(HungNodes, NameARankThatComputesWhileTheOthersWaitForIt) {
  write("train.py", kOwnRing);
  const rules::LocalNodes nodes(3);
  Instance zero(node(0, nodes));
  Instance one(node(1, nodes));
  Instance two(node(2, nodes));
  EXPECT_EQ(one.wait(), 70) << one.err();
  EXPECT_EQ(zero.wait(), 76) << zero.err();
  EXPECT_EQ(two.wait(), 76) << two.err();
  for (Instance* each : {&zero, &one, &two}) {
    EXPECT_THAT(each->err(), AllOf(HasSubstr("first failure: rank-1 (node 1"),
                                   HasSubstr("the others wait for rank-1 on node 1"),
                                   HasSubstr("train.py:6 in spin")));
  }
}

// Only told: each node says the same, and nothing ends.
TEST_P(HungNodes, AreToldTheSameWhereNothingIsToEnd) {
  write("train.py", kOwnRing);
  const rules::LocalNodes nodes(3);
  Instance zero(node(0, nodes, "report"));
  Instance one(node(1, nodes, "report"));
  Instance two(node(2, nodes, "report"));
  for (Instance* each : {&zero, &one, &two}) {
    EXPECT_TRUE(each->await_err("where the ranks are: the others wait for rank-1 on node 1"))
        << each->err();
  }
  for (Instance* each : {&zero, &one, &two}) each->signal(SIGTERM);
  for (Instance* each : {&zero, &one, &two}) EXPECT_EQ(each->wait(), 143) << each->err();
}

TEST_P(Stacks, ComeWhenSomebodyAsks) {
  EXPECT_EQ(tool({"stacks"}).code, 2) << "no instance";
  Instance instance(two_ranks({"--output", "files"}, train()));
  await_state(kRunning);
  Result text = tool({"stacks"});
  while (text.code == 0 && !text.out.contains("train.py:7")) text = tool({"stacks"});
  EXPECT_EQ(text.code, 0) << text.err;
  while (!text.out.contains("train.py:5 in load")) text = tool({"stacks"});
  EXPECT_THAT(text.out, HasSubstr("rank-0: waits in all_reduce, train.py:7"));
  const Result json = tool({"stacks", "--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"verdict\""), HasSubstr("\"function\": \"load\"")));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

// A RAS thread of NCCL, as far as it is asked: by its documented protocol.
constexpr const char* kRas = R"py(
import os, socket, sys, time
STATUS = """Job summary
  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          2            1          2        2
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         2         2         2   RUNNING  MISMATCH
Warnings
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  Rank 0 has launched up to operation 42 -- GPU 0 managed by process 9 on node 10.0.0.1
  Rank 1 has launched up to operation 41 -- GPU 1 managed by process %d on node 10.0.0.1
""" % os.getpid()
def answer(end):
    lines = end.makefile('r')
    if not lines.readline().startswith('CLIENT PROTOCOL '): return
    end.sendall(b'SERVER PROTOCOL 2\n')
    if int(lines.readline().split('TIMEOUT ')[1]) > 0: end.sendall(b'OK\n')
    if lines.readline() == 'VERBOSE STATUS\n': end.sendall(STATUS.encode())
with socket.socket() as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', int(os.environ['NCCL_RAS_ADDR'].split(':')[1])))
    listener.listen()
    os.write(1, b'ready\n')
    while True:
        end, _ = listener.accept()
        if sys.argv[1:] == ['silent']: time.sleep(1000)
        answer(end)
        end.shutdown(socket.SHUT_RDWR)
)py";

TEST_P(Stacks, TellWhatNcclSaysOfTheRanks) {
  write("ras.py", kRas);
  Spec both = two_ranks({"--output", "inherit"},
                        shell("[ $RANK = 1 ] && exec /usr/bin/python3 $HERE/ras.py\nsleep 1000"));
  both.env.push_back("NCCL_RAS_ADDR=127.0.0.1:" + std::to_string(free_port()));
  Instance instance(both);
  ASSERT_TRUE(instance.await_out("ready"));
  await_state(kRunning);
  const std::string said = "NCCL's RAS: rank-1 has launched 41 AllReduce operations, others 42";
  const Result text = stacks_with(said);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr(said));
  const std::string note = "\"notes\": [\n    \"NCCL's RAS: rank-1";
  EXPECT_THAT(stacks_with(note, {"--json"}).out, HasSubstr(note));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, ComeThoughNcclIsSilent) {
  write("ras.py", kRas);
  Spec both = two_ranks({"--output", "inherit"},
                        shell("[ $RANK = 1 ] && exec /usr/bin/python3 $HERE/ras.py silent\n"
                              "sleep 1000"));
  both.env.push_back("NCCL_RAS_ADDR=127.0.0.1:" + std::to_string(free_port()));
  Instance instance(both);
  ASSERT_TRUE(instance.await_out("ready"));
  await_state(kRunning);
  const Result text = tool({"stacks"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("rank-0"), Not(HasSubstr("RAS"))));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

// A dump that is none of PyTorch's.
constexpr const char* kDamagedDump = "def dump_of(rank): return b'dump'\n";
// Rank 1 has not entered the all_reduce in which rank 0 waits.
constexpr const char* kDump = R"py(
import pickle
def dump_of(rank):
    entry = {'pg_id': 0, 'process_group': ('0', 'default_pg'), 'collective_seq_id': 27,
             'p2p_seq_id': 0, 'is_p2p': False, 'profiling_name': 'nccl:all_reduce',
             'time_created_ns': 1700000000000000000, 'input_sizes': [[8]], 'output_sizes': [[8]],
             'state': 'scheduled', 'retired': False}
    entered = rank == '0'
    status = {'last_enqueued_collective': 27 if entered else 26, 'last_started_collective': -1,
              'last_completed_collective': 26}
    group = {'name': '0', 'desc': 'default_pg', 'ranks': '[0, 1]'}
    return pickle.dumps({'version': '2.9', 'pg_config': {'0': group}, 'pg_status': {'0': status},
                         'entries': [entry] if entered else []}, protocol=2)
)py";
constexpr const char* kNamed =
    "the flight recorder: rank 1 has not entered all_reduce 27 of group default_pg, in which 1 "
    "rank "
    "waits (dumps ";

// What PyTorch does: a FIFO of each rank's, looked at again and again.
constexpr const char* kRecorder = R"py(
import os, time
rank = os.environ['RANK']
name = os.environ['TORCH_NCCL_DEBUG_INFO_PIPE_FILE'] + rank + '.pipe'
os.mkfifo(name)
pipe = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
os.write(1, b'ready\n')
while True:
    if os.read(pipe, 16):
        with open(os.environ['TORCH_FR_DUMP_TEMP_FILE'] + rank, 'wb') as file: file.write(dump_of(rank))
    time.sleep(0.2)
)py";

// The variables of such a job, whose dumps and FIFOs are in `directory`, which ends with a slash.
Spec recording(Spec of, const std::string& directory) {
  of.env.push_back("TORCH_FR_DUMP_TEMP_FILE=" + directory + "trace_");
  of.env.push_back("TORCH_NCCL_DEBUG_INFO_PIPE_FILE=" + directory + "pipe_");
  return of;
}

TEST_P(Stacks, HaveTheFlightRecordersDumpsMade) {
  write("train.py", kDamagedDump + std::string(kRecorder));
  write("trace_7", "of an earlier job");
  const std::array<timespec, 2> earlier = {};
  ASSERT_EQ(::utimensat(AT_FDCWD, path("trace_7").c_str(), earlier.data(), 0), 0);
  Instance instance(recording(two_ranks({"--output", "inherit"}, train()), path("")));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  await_state(kRunning);
  const Result text = stacks_with("the flight recorder's dumps " + path("trace_0") + " and 1 more");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("the flight recorder's dumps " + path("trace_0") +
                                  " and 1 more: read them with `python -m "
                                  "torch.distributed.flight_recorder.fr_trace " +
                                  path("") + "`"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, AFailureNamesTheFlightRecordersDumps) {
  Spec both = two_ranks(
      {"--output", "files"},
      shell("[ $RANK = 0 ] && sleep 1000\n"
            "echo dump >${TORCH_FR_DUMP_TEMP_FILE}1\n"
            "echo '[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(' >&2\n"
            "exit 1"));
  both.env.push_back("TORCH_FR_DUMP_TEMP_FILE=" + path("trace_"));
  Instance instance(both);
  EXPECT_EQ(instance.wait(), 1) << instance.err();
  EXPECT_THAT(instance.err(), HasSubstr("look at the ranks without this message; the flight "
                                        "recorder's dump " +
                                        path("trace_1") + ": read it with"));
}

TEST_P(Stacks, NameTheRankThatTheFlightRecorderNames) {
  write("train.py", kDump + std::string(kRecorder));
  Instance instance(recording(two_ranks({"--output", "inherit"}, train()), path("")));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  await_state(kRunning);
  write("trace_5", "half a dump");
  const Result text = stacks_with(kNamed + path("trace_0") + " and 2 more)");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("the others wait for rank-1"),
                              HasSubstr(kNamed + path("trace_0") +
                                        " and 2 more); 1 of 3 dumps could not be read"),
                              Not(HasSubstr("fr_trace"))));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, AFailureNamesTheRankThatTheFlightRecorderNames) {
  write("dump.py", std::string(kDump) +
                       "import sys\n"
                       "for rank in '01': open(sys.argv[1] + rank, 'wb').write(dump_of(rank))\n");
  Spec both = two_ranks(
      {"--output", "files"},
      shell("[ $RANK = 0 ] && sleep 1000\n"
            "/usr/bin/python3 -I $HERE/dump.py ${TORCH_FR_DUMP_TEMP_FILE}\n"
            "echo '[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(' >&2\n"
            "exit 1"));
  both.env.push_back("TORCH_FR_DUMP_TEMP_FILE=" + path("trace_"));
  Instance instance(both);
  EXPECT_EQ(instance.wait(), 1) << instance.err();
  EXPECT_THAT(instance.err(), HasSubstr(kNamed + path("trace_0") + " and 1 more)"));
}

TEST_P(Stacks, NoProgramGetsASignalThatItHasNotAskedFor) {
  // One that would die of it, and one that means something else by it.
  write("own.py",
        "import os, signal, time\n"
        "signal.signal(51, lambda *_: open(os.environ['HERE'] + '/hit', 'w'))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: time.sleep(0.01)\n");
  Instance instance(two_ranks({"--output", "inherit"},
                              shell("[ $RANK = 0 ] && exec /usr/bin/python3 -I $HERE/own.py; "
                                    "echo ready; while :; do sleep 0.05; done")));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  await_state(kRunning);
  for (int i = 0; i < 2; ++i) {
    const Result result = tool({"stacks"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("no Python stack: it is no Python"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("hit")));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

TEST_P(Stacks, AreTakenBeforeAKill) {
  write("deaf.py",
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "os.write(1, b'ready\\n')\n"
        "def deaf():\n"
        "    while True: time.sleep(1)\n"
        "deaf()\n");
  Instance instance(
      two_ranks({"--output", "inherit", "--grace", "4s"}, {"/usr/bin/python3", path("deaf.py")}));
  ASSERT_TRUE(instance.await_out("ready\nready"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("rank-0, rank-1 did not end, and will be killed: "),
                                    HasSubstr("deaf.py:5 in deaf")));
}

TEST_P(Stacks, ThePythonOfTheJobSeesNothingOfIt) {
  std::filesystem::create_directories(path("theirs"));
  write("theirs/sitecustomize.py", "import sys; sys.theirs = True\n");
  write("look.py",
        "import os, sys\n"
        "ours = [p for p in sys.path if 'stacks' in p]\n"
        "os.write(1, b'%r %r\\n' % (hasattr(sys, 'theirs'), ours))\n");
  Instance instance(
      two_ranks({"--output", "inherit"}, shell("PYTHONPATH=$PYTHONPATH:$HERE/theirs "
                                               "exec /usr/bin/python3 $HERE/look.py")));
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(instance.out(), HasSubstr("True []\nTrue []\n"));
  EXPECT_TRUE(std::filesystem::is_empty(path("run/stacks/dumps"))) << "they have ended";
  const Result plan = tool({"plan", "--", "python3", "train.py"});
  EXPECT_THAT(plan.out, Not(HasSubstr("PYTHONPATH"))) << "a single command";
}

// Each node has the dump of its own rank alone, which names nobody.
TEST_P(HungNodes, NameTheRankThatTheRecordersOfAllNodesName) {
  write("train.py", kDump + std::string(kRecorder));
  const rules::LocalNodes nodes(2);
  const auto with_recorder = [&](int rank) {
    const std::string own = path("node" + std::to_string(rank));
    std::filesystem::create_directories(own);
    return recording(node(rank, nodes), own + "/");
  };
  Instance zero(with_recorder(0));
  Instance one(with_recorder(1));
  EXPECT_EQ(one.wait(), 70) << one.err();
  EXPECT_EQ(zero.wait(), 76) << zero.err();
  for (Instance* each : {&zero, &one}) {
    EXPECT_THAT(each->err(), AllOf(HasSubstr("first failure: rank-1 (node 1"),
                                   HasSubstr("the others wait for rank-1 on node 1"),
                                   HasSubstr("rank 1 has not entered all_reduce 27 of group "
                                             "default_pg, in which 1 rank waits")));
  }
}

}  // namespace
