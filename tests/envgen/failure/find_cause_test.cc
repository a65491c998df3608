#include "envgen/failure/find_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::optional<FoundCause> cause_of(std::string_view printed) {
  return find_cause(printed, FailureCatalog::shipped());
}

std::string cause_line(std::string_view printed) {
  const auto cause = cause_of(printed);
  return cause ? cause->line : "-";
}

std::string numbered_steps(int count) {
  std::string all;
  for (int i = 1; i <= count; ++i) all += "step " + std::to_string(i) + " loss 0.5\n";
  return all;
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr std::string_view kTraceback =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    main()\n"
    "           ^^^^\n"
    "ValueError: batch 7 is empty\n";

TEST(FindCause, IsNothingWhereNothingSpeaksOfAFailure) {
  EXPECT_FALSE(cause_of(""));
  EXPECT_FALSE(cause_of("step 1\nstep 2\ndone\n"));
  EXPECT_FALSE(cause_of("UserWarning: CUDA out of memory is near\n"));
}

TEST(FindCause, IsTheEndOfATracebackWithWhatLedToIt) {
  const auto cause = cause_of("step 1\n" + std::string(kTraceback) + repeated("a warning\n", 40));
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->line, "ValueError: batch 7 is empty");
  EXPECT_EQ(cause->traceback.front(), "Traceback (most recent call last):");
  EXPECT_EQ(cause->traceback.back(), cause->line);
  EXPECT_EQ(cause->failure_class, "script-error");
  EXPECT_EQ(cause->restart, RestartHelps::kUnknown);
}

TEST(FindCause, FindsATracebackBehindABarOnTheSameLine) {
  EXPECT_EQ(cause_line(" 50%|###  | 5/10 [00:01<00:01, 5.0it/s]" + std::string(kTraceback)),
            "ValueError: batch 7 is empty");
  EXPECT_EQ(cause_line("\r 50%|#\r 60%|#" + std::string(kTraceback)),
            "ValueError: batch 7 is empty");
}

TEST(FindCause, SeesThroughPrefixesAndColours) {
  for (const std::string prefix :
       {"[rank1]: ", "[1,0]<stderr>:", "15: ", "(Worker pid=17) ", "2025-02-18T12:54:01.1Z ",
        "worker-3: ", "ERROR 03-25 06:14:02 [a.py:880] ", "\033[31m[rank1]:\033[0m "}) {
    std::string printed;
    std::string_view rest = kTraceback;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n') + 1;
      printed += prefix + std::string(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    EXPECT_THAT(cause_line(printed), HasSubstr("ValueError: batch 7 is empty")) << prefix;
  }
}

TEST(FindCause, SeesThroughWhatALoggerPutsBeforeEachLine) {
  for (const std::string prefix :
       {"2025-02-18 12:54:01,001 - trainer - ERROR - ", "node01: ", "trainer-0  | ",
        "stderr: ", "[pod/job-0/main] ", "(RayTrainWorker pid=17, ip=10.0.0.1) "}) {
    std::string printed = prefix + "step 1\n";
    std::string_view rest = kTraceback;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n') + 1;
      printed += prefix + std::string(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    const auto cause = cause_of(printed);
    ASSERT_TRUE(cause) << prefix;
    EXPECT_EQ(cause->line, prefix + "ValueError: batch 7 is empty");
    EXPECT_EQ(cause->traceback.size(), 5U) << prefix;
  }
}

TEST(FindCause, TakesAMessageForTheEndOfATracebackThatNamesNoException) {
  const auto cause = cause_of(
      "  File \"a.py\", line 1, in f\n    MPI_LIB.allreduce(tensor)\nNode: 'Allreduce_0'\n"
      "Horovod has been shut down. This was caused by an exception on one of the ranks\n"
      "\t [[{{node Allreduce_0}}]]\n");
  ASSERT_TRUE(cause);
  EXPECT_THAT(cause->line, HasSubstr("Horovod has been shut down"));
  EXPECT_EQ(cause->traceback.front(), "  File \"a.py\", line 1, in f");
}

TEST(FindCause, HoldsAnExceptionWithoutItsTracebackForOne) {
  const std::string_view line = "tensorflow.python.framework.errors_impl.InternalError: no output";
  EXPECT_EQ(cause_line("Epoch 1/3\n" + std::string(line) + "\n"), line);
  EXPECT_FALSE(cause_of("Epoch 1/3\n" + std::string(line) + "\n" + numbered_steps(4)));
  // It may have been caught.
  const auto alone = cause_of("importing\nModuleNotFoundError: No module named 'fast'\n");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->restart, RestartHelps::kUnknown);
}

TEST(FindCause, DoubtsATracebackThatSomethingAnnounces) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in run\n    load()\n"
      "ModuleNotFoundError: No module named 'fast'\n";
  EXPECT_EQ(cause_of(traceback)->restart, RestartHelps::kNo);
  EXPECT_EQ(cause_of("Process worker-1:\n" + traceback)->restart, RestartHelps::kNo);
  for (const std::string before :
       {"Exception in thread Thread-3 (read):", "Task exception was never retrieved",
        "cannot load the cache:", "Exception in callback run()"}) {
    const std::string printed = before + "\n" + traceback;
    const auto cause = cause_of(printed);
    ASSERT_TRUE(cause) << before;
    EXPECT_EQ(cause->restart, RestartHelps::kUnknown) << before;
    EXPECT_FALSE(cause_of(printed + numbered_steps(4))) << before;
  }
}

TEST(FindCause, IgnoresATracebackThatPythonSaysItIgnores) {
  for (const std::string before :
       {"Exception ignored in: <function f at 0x1>", "Exception ignored on calling ctypes callback",
        "Error processing line 1 of /usr/lib/python3/dist-packages/a.pth:\n"}) {
    EXPECT_FALSE(cause_of(before + "\n" + std::string(kTraceback))) << before;
  }
}

TEST(FindCause, GoesByTheLevelOfARecordThatQuotesATraceback) {
  auto record = [](const std::string& level) {
    return R"({"level":")" + level +
           R"(","exc":"Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: 7"})"
           "\n";
  };
  EXPECT_THAT(cause_line(record("error") + repeated("an epoch\n", 4)), HasSubstr("ValueError: 7"));
  EXPECT_FALSE(cause_of(record("warning") + repeated("an epoch\n", 4)));
}

TEST(FindCause, RefusesARestartForWhatAShellCannotRun) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  for (const auto& [line, code] : std::initializer_list<std::pair<const char*, int>>{
           {"bash: line 1: ./train.sh: Permission denied", 126},
           {"sh: 1: ./train.sh: Permission denied", 126},
           {"env: './train.sh': Permission denied", 126},
           {"timeout: failed to run command './a': Permission denied", 126},
           {"bash: ./a: /bin/none: bad interpreter: No such file or directory", 126},
           {"./run.sh: line 2: ./a: cannot execute binary file: Exec format error", 126},
           {"./run.sh: line 2: syntax error near unexpected token `fi'", 2},
           {"./run.sh: 2: Syntax error: Unterminated quoted string", 2},
           {"./run.sh: line 4: tranning: command not found", 127},
           {"./run.sh: 4: tranning: not found", 127},
           {"zsh:1: command not found: tranning", 127},
           {"/usr/bin/env: 'python3.9': No such file or directory", 127},
           {"timeout: failed to run command 'a': No such file or directory", 127}}) {
    const std::string printed = "starting\n" + std::string(line) + "\n";
    const auto cause = find_cause(printed, catalog, {.exit_code = code});
    ASSERT_TRUE(cause) << line;
    EXPECT_EQ(cause->line, line);
    EXPECT_EQ(cause->restart, RestartHelps::kNo) << line;
    const auto other = find_cause(printed, catalog, {.exit_code = 1});
    EXPECT_TRUE(!other || other->restart != RestartHelps::kNo) << line;
  }
}

TEST(FindCause, IsTheEndOfACommandAsItsShellReportsIt) {
  EXPECT_EQ(cause_of("step 1\n./run.sh: line 3:    12 Killed                  python3 a.py\n")
                ->failure_class,
            "host-oom");
  EXPECT_EQ(cause_of("./run.sh: line 3: 12 Aborted (core dumped) python3 a.py\n")->failure_class,
            "segfault");
}

TEST(FindCause, GoesByTheLevelOfALineThatNobodyKnows) {
  EXPECT_EQ(cause_line("[E926 11:11:00.6 thread_pool.cpp:138] Exception in a task\n"
                       "Aborted (core dumped)\n"),
            "[E926 11:11:00.6 thread_pool.cpp:138] Exception in a task");
  EXPECT_EQ(cause_line("field: tokenizer\nError: extra inputs\nbye\n"), "Error: extra inputs");
  EXPECT_EQ(cause_line("2025-01-01 10:00:00 | ERROR | no licence left\n"),
            "2025-01-01 10:00:00 | ERROR | no licence left");
  EXPECT_FALSE(cause_of("ERROR: no cuda, going on\n" + numbered_steps(4)));
  EXPECT_EQ(cause_line("ERROR: no cuda\n" + std::string(kTraceback)),
            "ValueError: batch 7 is empty");
}

TEST(FindCause, ReadsATracebackThatIsOneLine) {
  const std::string quoted =
      R"({"level":"error","message":"Traceback (most recent call last):\n  File \"a.py\", line 1, in )"
      R"(f\n    g()\nImportError: cannot import name 'x'\n"})";
  const auto cause = cause_of("step 1\n" + quoted + "\nbye\n");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->line, quoted);
  EXPECT_EQ(cause->failure_class, "python-import");
}

// Old and new Gloo, as they print it
TEST(FindCause, NamesTheInterfaceWhereGlooWasOfferedTheLoopback) {
  for (const char* line :
       {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:799] connect "
        "[127.0.1.1]:60817: "
        "Connection refused",
        "RuntimeError: Gloo connectFullMesh failed with "
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] timed out connecting: SO_ERROR: "
        "Connection refused, remote=[127.0.1.1]:20901"}) {
    const auto cause = cause_of(std::string(line) + "\n");
    ASSERT_TRUE(cause) << line;
    EXPECT_THAT(cause->advice, HasSubstr("GLOO_SOCKET_IFNAME")) << line;
  }
  for (const char* line :
       {"RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [10.7.0.2]:4: Connection refused",
        "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer "
        "[127.0.0.1]:5"}) {
    const auto cause = cause_of(std::string(line) + "\n");
    ASSERT_TRUE(cause) << line;
    EXPECT_THAT(cause->advice, testing::Not(HasSubstr("GLOO_SOCKET_IFNAME"))) << line;
  }
}

TEST(FindCause, LetsAVictimsMessageBeatATracebackThatIsCutOff) {
  EXPECT_THAT(
      cause_line("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
                 "RuntimeError: [third_party/gloo/gloo/transport/tcp/pair.cc:799] refused\n"
                 "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
                 "    group = new_group()\n"),
      HasSubstr("refused"));
  EXPECT_EQ(
      cause_line("    raise RuntimeError('DataLoader worker (pid(s) {}) exited unexpectedly')\n"
                 "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"),
      "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly");
}

TEST(FindCause, ShowsOfAGroupOfExceptionsTheOneInIt) {
  EXPECT_THAT(cause_line("  + Exception Group Traceback (most recent call last):\n"
                         "  |   File \"a.py\", line 3, in <module>\n"
                         "  |     main()\n"
                         "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
                         "  +-+---------------- 1 ----------------\n"
                         "    | Traceback (most recent call last):\n"
                         "    |   File \"a.py\", line 1, in load\n"
                         "    |     raise ValueError(7)\n"
                         "    | ValueError: row 7\n"
                         "    +------------------------------------\n"),
              HasSubstr("ValueError: row 7"));
}

TEST(FindCause, KeepsTheTracebacksOfRanksApart) {
  EXPECT_EQ(
      cause_line("[rank0]: Traceback (most recent call last):\n"
                 "[rank1]: Traceback (most recent call last):\n"
                 "[rank0]:   File \"a.py\", line 1, in f\n"
                 "[rank1]:   File \"b.py\", line 2, in g\n"
                 "[rank1]: RuntimeError: NCCL error in: x, remote process exited or there was a "
                 "network error\n"
                 "[rank0]: KeyError: 'loss'\n"),
      "[rank0]: KeyError: 'loss'");
}

TEST(FindCause, HoldsTheEndOfATornTracebackForOne) {
  EXPECT_EQ(cause_line("    main()\nKeyError: 'loss'\n"), "KeyError: 'loss'");
  EXPECT_EQ(cause_line("  File \"a.py\", line 1, in f\n    main()\nKeyError: 'loss'\n"),
            "KeyError: 'loss'");
  EXPECT_EQ(
      cause_line("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    go()\n"),
      "    go()");
}

// The first line may be the end of a traceback whose beginning is lost, or a message of its own.
TEST(FindCause, HoldsAnExceptionInTheFirstLineForOneThatTheJobMayHaveCaught) {
  const std::string printed =
      "ModuleNotFoundError: No module named 'apex'\nstep 1 loss 2.5\n"
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const auto cause = cause_of(printed);
  ASSERT_TRUE(cause);
  EXPECT_THAT(cause->line, HasSubstr("CUDA out of memory"));
  EXPECT_FALSE(cause_of("ModuleNotFoundError: No module named 'apex'\n" + numbered_steps(4)));
}

TEST(FindCause, LetsARootBeatItsVictims) {
  const std::string victim =
      "[rank1]: [E1 ProcessGroupNCCL.cpp:1] [Rank 1] Watchdog caught collective operation "
      "timeout: WorkNCCL(SeqNum=1)\n";
  EXPECT_THAT(cause_line(victim + "[rank0]: torch.OutOfMemoryError: CUDA out of memory.\n"),
              HasSubstr("CUDA out of memory"));
  const auto alone = cause_of(victim);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->role, FailureRole::kVictim);
  EXPECT_THAT(alone->advice, HasSubstr("look at the ranks without this message"));
}

// "HCCL, Fault Locating" in CANN's documents: each rank's log names the root node.
TEST(FindCause, ShowsTheRootNodeThatHcclsHeartbeatNames) {
  const std::string waits =
      "[ERROR] HCCL(1,python): [Error]: The wait execution of the Notify register times out.\n"
      "synchronize stream failed, runtime result = 507048\n";
  const std::string names =
      "[ERROR] HCCL(1,python): Cluster Exception Location[IP/ID]:[172.16.38.219/6], Arrival "
      "Time:[Wed Mar 26 13:07:07 2025], Discoverer:[172.16.38.219/3], ExceptionType:[Stuck "
      "Occurred], Possible Reason:1. Host process is stuck\n";
  EXPECT_THAT(cause_line(waits + names), HasSubstr("[172.16.38.219/6]"));
  EXPECT_THAT(
      cause_line(waits + "[INFO] HCCL(686,python):2025-10-23-07:52:59.191.363 [heartbeat.cc:951] "
                         "[TaskExecStage][HeartbeatAbnormal]local rank [10.0.0.1/0]: crimer rank "
                         "[10.0.0.2/1] status[LOST] by informer rank [10.0.0.3/2]\n"),
      HasSubstr("crimer rank [10.0.0.2/1]"));
  EXPECT_THAT(cause_line(names + "RuntimeError: NPU out of memory. Tried to allocate 2 GiB\n"),
              HasSubstr("NPU out of memory"));
}

TEST(FindCause, TakesTheFirstOfEquals) {
  const std::string first =
      "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g\n";
  EXPECT_EQ(cause_line(first + "OSError: [Errno 28] No space left on device\n" + first +
                       "RuntimeError: CUDA out of memory\n"),
            "OSError: [Errno 28] No space left on device");
}

TEST(FindCause, PassesOverTheLaunchersWords) {
  const std::string launcher =
      "E0325 20:57:27 api.py:869] failed (exitcode: 1) local_rank: 5 (pid: 1) of binary: python\n"
      "Traceback (most recent call last):\n"
      "  File \"/lib/torch/distributed/run.py\", line 910, in run\n"
      "    elastic_launch(\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
  EXPECT_EQ(cause_line(std::string(kTraceback) + launcher), "ValueError: batch 7 is empty");
  EXPECT_EQ(cause_of(launcher)->role, FailureRole::kVictim);
}

TEST(FindCause, ShowsOfAChainWhatSaysMost) {
  const std::string first =
      "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g\n";
  const std::string during =
      "\nDuring handling of the above exception, another exception occurred:\n\n";
  EXPECT_EQ(
      cause_line(first + "RuntimeError: disk\n" + during + first + "ValueError: cleaning up\n"),
      "RuntimeError: disk");
  EXPECT_EQ(
      cause_line(first + "KeyError: 'a'\n" + during + first + "ValueError: no such model: a\n"),
      "ValueError: no such model: a");
  // What a data loader raises anew.
  EXPECT_EQ(cause_line(first + "ValueError: Caught ValueError in DataLoader worker process 0.\n"
                               "Original Traceback (most recent call last):\n"
                               "  File \"b\", line 2, in g\n    h\nValueError: row 7\n"),
            "ValueError: row 7");
}

TEST(FindCause, PassesOverWhatTheJobWentOnAfter) {
  EXPECT_FALSE(cause_of(std::string(kTraceback) + numbered_steps(30)));
  EXPECT_FALSE(cause_of(numbered_steps(2) + std::string(kTraceback) + numbered_steps(6)));
  EXPECT_EQ(cause_line(std::string(kTraceback) + numbered_steps(6) +
                       "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g\n"
                       "TypeError: none\n"),
            "TypeError: none");
  EXPECT_FALSE(cause_of("Exception ignored in: <function f>\n" + std::string(kTraceback)));
}

TEST(FindCause, HoldsADeterministicFailureForOneWhereTheProcessEndedWithIt) {
  struct {
    std::string printed;
    int exit_code;
  } const cases[] = {
      {"python: can't open file '/job/train.py': [Errno 2] No such file or directory\n", 2},
      {"train.py: error: unrecognized arguments: --a=1\n", 2},
      {"/bin/sh: 1: nvcc: not found\n", 127},
  };
  for (const auto& [printed, exit_code] : cases) {
    const auto cause = find_cause(printed, FailureCatalog::shipped(), {.exit_code = exit_code});
    ASSERT_TRUE(cause) << printed;
    EXPECT_EQ(cause->restart, RestartHelps::kNo) << printed;
    for (const HowEnded how : {HowEnded{}, HowEnded{.exit_code = 1}}) {
      const auto other = find_cause(printed, FailureCatalog::shipped(), how);
      EXPECT_TRUE(!other || other->restart == RestartHelps::kUnknown) << printed;
    }
  }
}

TEST(FindCause, HoldsASyntaxErrorForTheEndOnlyWhereItIsTheScripts) {
  const auto of = [](const std::string& file) {
    return cause_of("  File \"" + file +
                    "\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed\n");
  };
  EXPECT_EQ(of("train.py")->restart, RestartHelps::kNo);
  EXPECT_EQ(of("<string>")->restart, RestartHelps::kUnknown) << "a text that the job ran";
  EXPECT_EQ(cause_of("SyntaxError: invalid syntax (<string>, line 3)\n")->restart,
            RestartHelps::kUnknown);
}

TEST(FindCause, ShowsAWatchdogsLineAndNotTheAbortThatFollows) {
  const auto cause = cause_of(
      "[rank2]:[E1206 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective operation "
      "timeout: WorkNCCL(SeqNum=77)\n"
      "terminate called after throwing an instance of 'c10::DistBackendError'\n"
      "  what():  [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77)\n"
      "E0101 00:00:00.0 1 api.py:874] failed (exitcode: -6) local_rank: 2 (pid: 438) of binary: "
      "x\n");
  ASSERT_TRUE(cause);
  EXPECT_THAT(cause->line, HasSubstr("[E1206"));
  EXPECT_EQ(cause->role, FailureRole::kVictim);
}

// Ranks of a table are no steps of a job that goes on.
TEST(FindCause, SeesThroughTheTableOfALauncher) {
  std::string table = "train.py FAILED\nFailures:\n";
  for (int rank = 1; rank < 64; ++rank) {
    const std::string number = std::to_string(rank);
    table += "[" + number +
             "]:\n  time      : 2022-03-28_19:11:13\n  host      : n\n  rank      : " + number +
             " (local_rank: " + number + ")\n  exitcode  : 1 (pid: 10" + number +
             ")\n  error_file: <N/A>\n  traceback : To enable traceback see: https://x\n";
  }
  EXPECT_EQ(cause_line(std::string(kTraceback) + table), "ValueError: batch 7 is empty");
  EXPECT_EQ(cause_line("ERROR:train:it failed\n" + std::string(kTraceback) + table),
            "ValueError: batch 7 is empty");
}

TEST(FindCause, LetsAKillBeatTheVictimsOfTheKilledRank) {
  EXPECT_THAT(cause_line("Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g\n"
                         "RuntimeError: Connection reset by peer\n"
                         "E0101 00:00:00.0 1 api.py:874] failed (exitcode: -9) local_rank: 2\n"),
              HasSubstr("(exitcode: -9)"));
}

// No process can speak of its SIGKILL.
TEST(FindCause, DoesNotExplainAKillByAnErrorBeforeIt) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  const HowEnded killed{.killed = true};
  EXPECT_FALSE(find_cause("SyntaxError: invalid syntax (<string>, line 3)\n" + numbered_steps(2),
                          catalog, killed));
  EXPECT_FALSE(find_cause("ERROR: No space left on device\n", catalog, killed));
  EXPECT_TRUE(
      find_cause("slurmstepd: error: Detected 1 oom_kill event in StepId=1.0\n", catalog, killed));
}

TEST(FindCause, RefusesNoRestartWhereSomethingElseEndedTheJobToo) {
  const std::string missing =
      "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    import x\n"
      "ModuleNotFoundError: No module named 'x'\n";
  EXPECT_EQ(cause_of(missing)->restart, RestartHelps::kNo);
  EXPECT_EQ(cause_of("ERROR:train:import failed\n" + missing)->restart, RestartHelps::kUnknown)
      << "a logger may have printed it for one that has caught it";
  const auto both = cause_of(missing + "E0101 00:00:00.0 1 api.py:8] failed (exitcode: -9) x\n");
  EXPECT_THAT(both->line, HasSubstr("(exitcode: -9)")) << "an exception does not kill";
  EXPECT_EQ(both->restart, RestartHelps::kUnknown);
}

// A script that can do without a module may print its traceback.
TEST(FindCause, RefusesNoRestartForALineThatSomethingFollows) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  const std::string missing =
      "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    import x\n"
      "ModuleNotFoundError: No module named 'x'\n";
  const auto verdict = [&catalog](const std::string& printed, int code) {
    return find_cause(printed, catalog, {.exit_code = code})->restart;
  };
  EXPECT_EQ(verdict(missing, 1), RestartHelps::kNo);
  EXPECT_EQ(verdict(missing + "Using device cuda\n", 1), RestartHelps::kUnknown);
  EXPECT_EQ(verdict("WARNING:root:no apex\n" + missing, 1), RestartHelps::kUnknown);
  for (const int code : {3, 137, 139, 143}) {
    EXPECT_EQ(verdict(missing, code), RestartHelps::kUnknown) << code;
  }
  const std::string option = "train.py: error: unrecognized arguments: --foo\n";
  EXPECT_EQ(verdict(option, 2), RestartHelps::kNo);
  EXPECT_EQ(verdict("/bin/sh: 1: nvcc: not found\nloading\n", 127), RestartHelps::kUnknown);
}

TEST(FindCause, PrefersTheLastOfTwoExceptionsOfOneProcessWithOutputBetween) {
  const std::string caught =
      "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g()\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  EXPECT_EQ(cause_line(caught + "batch halved\n" + std::string(kTraceback)),
            "ValueError: batch 7 is empty");
}

// vLLM prints it for a request.
TEST(FindCause, TakesNoWarningForAnEndWhateverItsWords) {
  const std::string warning =
      "WARNING 01-02 03:04:05 [scheduler.py:1754] Sequence group 0 is preempted by "
      "PreemptionMode.RECOMPUTE mode\n";
  EXPECT_EQ(cause_line(warning + std::string(kTraceback)), "ValueError: batch 7 is empty");
  EXPECT_EQ(cause_line(warning + numbered_steps(9)), "-");
}

TEST(FindCause, TakesFramesOfNativeCodeForNoWork) {
  std::string frames;
  for (int i = 0; i < 80; ++i) {
    frames += "#" + std::to_string(i) + " 0x7f00" + std::to_string(i) + " in foo() libtorch.so\n";
  }
  EXPECT_EQ(cause_line(std::string(kTraceback) + frames), "ValueError: batch 7 is empty");
}

TEST(FindCause, FindsTheCauseBehindMoreNumbersThanProcesses) {
  std::string steps;
  for (int i = 0; i < 400; ++i) steps += std::to_string(i) + ": loss 2.5\n";
  EXPECT_EQ(cause_line(steps + std::string(kTraceback)), "ValueError: batch 7 is empty");
}

TEST(FindCause, IsUncertainOfWhatALivingProcessHasSurvived) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  const std::string survived = std::string(kTraceback) + "goes on\n";
  EXPECT_TRUE(find_cause(survived, catalog)->certain);
  EXPECT_FALSE(find_cause(survived, catalog, {.lives = true})->certain);
  EXPECT_TRUE(find_cause(kTraceback, catalog, {.lives = true})->certain);
}

TEST(FindCause, ShowsOfTwoLinesOfOneEventTheOneWithTheReason) {
  EXPECT_THAT(
      cause_line("slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2021-03-15T17:50:23 ***\n"
                 "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2021-03-15T18:00:46 DUE "
                 "TO PREEMPTION ***\nsrun: Job step aborted: Waiting\n"),
      HasSubstr("DUE TO PREEMPTION"));
  EXPECT_THAT(
      cause_line("E0725 19:18:07.411032 1 runtime.cc:341] Call aclInit(nullptr) failed : 507008\n"
                 "EL0003: 2025-07-25-19:18:07.410.881 The argument is invalid.\n"),
      HasSubstr("aclInit(nullptr) failed"));
  EXPECT_EQ(
      cause_line("RuntimeError: \nThe detected CUDA version (11.7) mismatches the version that "
                 "was used to compile\n"),
      "The detected CUDA version (11.7) mismatches the version that was used to compile");
}

TEST(FindCause, FindsTheCauseBehindThousandsOfVictims) {
  const std::string victims = repeated("a.py exits with return code = -9\n", 3000);
  EXPECT_EQ(cause_line(victims + std::string(kTraceback)), "ValueError: batch 7 is empty");
}

TEST(FindCause, ShowsNoCredentialsAndNoEndlessLines) {
  const auto cause =
      cause_of("RuntimeError: CUDA out of memory token=hf_abcdefghijklmnopqrstuvwxyz01 " +
               std::string(5000, 'x') + "\n");
  ASSERT_TRUE(cause);
  EXPECT_LE(cause->line.size(), 400U);
  EXPECT_THAT(cause->line, testing::Not(HasSubstr("hf_abc")));
  EXPECT_THAT(cause_line(std::string(3000, 'y') + " exits with return code = -9\n"),
              HasSubstr("exits with return code = -9"));
}

TEST(FindCause, HoldsAnExceptionBehindABoxForTheEndOfATraceback) {
  const std::string box =
      "│ ❱ 891 │ assert train_batch == micro_batch * grad_acc │\n"
      "╰───────────────────────────────────────────────────╯\n";
  const std::string message = "ValueError: 64 is not 4 *\n8 * 1 in epoch 3\n";
  EXPECT_EQ(cause_line(box + message + "(exitcode: 1) local_rank: 0\n"),
            "ValueError: 64 is not 4 *")
      << "the rest of the message is no progress";
}

TEST(FindCause, PrefersAnExceptionToALaunchersWordsUnlessTheJobWentOn) {
  const std::string launcher = "[ERROR] ['python', 'train.py'] exits with return code = 1\n";
  EXPECT_EQ(
      cause_line(numbered_steps(3) + std::string(kTraceback) + "step 4 loss 0.5\n" + launcher),
      "ValueError: batch 7 is empty")
      << "a step of another rank";
  EXPECT_THAT(
      cause_line(numbered_steps(3) + std::string(kTraceback) + numbered_steps(9) + launcher),
      HasSubstr("[ERROR]"));
  // Anything may print a name and a message.
  EXPECT_THAT(cause_line("ModuleNotFoundError: No module named 'apex'\n" + launcher),
              HasSubstr("[ERROR]"));
}

TEST(FindCause, PrefersWhatIsKnownToALineOfCode) {
  // Of a traceback whose end was printed before its beginning.
  EXPECT_EQ(cause_line("[n:2]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3 GiB\n"
                       "[n:2]:  0%|          | 0/127 [04:35<?, ?it/s]\n"
                       "[n:2]:Traceback (most recent call last):\n"
                       "[n:2]:  File \"train.py\", line 292, in <module>\n"
                       "[n:2]:    main()\n"),
            "[n:2]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3 GiB");
}

TEST(FindCause, ShowsWhatIsBelowAHeading) {
  EXPECT_EQ(
      cause_line("Traceback (most recent call last):\n"
                 "  File \"t.py\", line 2, in f\n"
                 "    run()\n"
                 "tensorflow.python.framework.errors_impl.UnknownError: 2 root error(s) found.\n"
                 "  (0) Unknown: Failed to get convolution algorithm.\n"),
      "  (0) Unknown: Failed to get convolution algorithm.");
}

TEST(FindCause, SeesAKillBehindABar) {
  const auto cause = cause_of("  6%|#  | 3787/62565 [04:47<1:10:53, 13.82it/s]Killed\n");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->failure_class, "host-oom");
}

TEST(CauseKey, IsTheSameWhateverTheNumbers) {
  EXPECT_EQ(cause_key("rank 1: 0x7f1234ab at 12:30:01"), cause_key("rank 7: 0x7fe9991c at 1:2:3"));
  EXPECT_NE(cause_key("KeyError: 'a'"), cause_key("KeyError: 'b'"));
}

TEST(FindCause, HoldsNoVariableThatIsPrintedForAFailure) {
  EXPECT_FALSE(cause_of("ASCEND_OPP_PATH=/usr/local/Ascend/opp\nNCCL_DEBUG=WARN\n"));
}

TEST(FindCause, KnowsASigbusByTheCodeThatALauncherPrints) {
  const auto cause = cause_of("E0325 20:57:27 api.py:869] failed (exitcode: -7) local_rank: 5\n");
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->failure_class, "shm-bus-error");
}

TEST(FailureCatalog, HasRowsThatAllCanBeRead) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  EXPECT_GT(catalog.rows().size(), 60U);
  EXPECT_LE(catalog.rows().size(), 120U);
  for (const FailureRow& row : catalog.rows()) {
    EXPECT_FALSE(row.id.empty() || row.failure_class.empty() || row.advice.empty()) << row.id;
  }
}

TEST(FailureCatalog, TakesTheRowsOfAnImageBeforeItsOwn) {
  FailureCatalog catalog = FailureCatalog::shipped();
  EXPECT_THAT(catalog.add(R"({"failures":[{"id":"ours","class":"licence","role":"root",)"
                          R"("restart":"no","match":["CUDA out of memory*by ours$"],)"
                          R"("advice":"ask"}]})",
                          "a.json"),
              IsEmpty());
  EXPECT_EQ(find_cause("CUDA out of memory, said by ours\n", catalog)->failure_class, "licence");
  EXPECT_EQ(find_cause("CUDA out of memory, said by others\n", catalog)->failure_class, "cuda-oom");
}

TEST(FailureCatalog, SaysWhichRowIsWrongAndTakesTheOthers) {
  FailureCatalog catalog = FailureCatalog::shipped();
  const std::size_t before = catalog.rows().size();
  const auto errors = catalog.add(
      R"({"failures":[{"id":"a","class":"c","role":"boss","restart":"no","match":["abc"],)"
      R"("advice":"x"},{"id":"b","class":"c","role":"root","restart":"no","match":["*"],)"
      R"("advice":"x"},{"id":"c","class":"c","role":"root","restart":"no","match":["abcd"],)"
      R"("advice":"x"}]})",
      "/etc/trainit/failures.d/a.json");
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_THAT(to_line(errors[0]), HasSubstr("/etc/trainit/failures.d/a.json, row 1"));
  EXPECT_THAT(to_line(errors[1]), HasSubstr("row 2"));
  EXPECT_EQ(catalog.rows().size(), before + 2);
  EXPECT_EQ(catalog.add("nonsense", "b.json").size(), 1U);
  EXPECT_EQ(catalog.add("{}", "b.json").size(), 1U);
}

}  // namespace
}  // namespace envgen
