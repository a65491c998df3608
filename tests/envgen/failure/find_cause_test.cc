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
  EXPECT_FALSE(cause_of("Epoch 1/3\n" + std::string(line) + "\nstep 2 loss 0.1\n"));
  // It may have been caught.
  const auto alone = cause_of("importing\nModuleNotFoundError: No module named 'fast'\n");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->restart, RestartHelps::kUnknown);
}

TEST(FindCause, GoesByTheLevelOfALineThatNobodyKnows) {
  EXPECT_EQ(cause_line("[E926 11:11:00.6 thread_pool.cpp:138] Exception in a task\n"
                       "Aborted (core dumped)\n"),
            "[E926 11:11:00.6 thread_pool.cpp:138] Exception in a task");
  EXPECT_EQ(cause_line("field: tokenizer\nError: extra inputs\nbye\n"), "Error: extra inputs");
  EXPECT_EQ(cause_line("2025-01-01 10:00:00 | ERROR | no licence left\n"),
            "2025-01-01 10:00:00 | ERROR | no licence left");
  EXPECT_FALSE(cause_of("ERROR: no cuda, going on\nstep 1 loss 0.5\n"));
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
  EXPECT_FALSE(cause_of("ModuleNotFoundError: No module named 'apex'\nstep 1 loss 2.5\n"));
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
  EXPECT_EQ(cause_line("OSError: [Errno 28] No space left on device\nCUDA out of memory\n"),
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
  const std::string steps = repeated("step 10 loss 0.5\n", 30);
  EXPECT_FALSE(cause_of(std::string(kTraceback) + steps));
  EXPECT_EQ(cause_line(std::string(kTraceback) + repeated("step 10 loss 0.5\n", 6) +
                       "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g\n"
                       "TypeError: none\n"),
            "TypeError: none");
  EXPECT_FALSE(cause_of("Exception ignored in: <function f>\n" + std::string(kTraceback)));
}

TEST(FindCause, HoldsADeterministicFailureForOne) {
  for (const std::string_view line :
       {"python: can't open file '/job/train.py': [Errno 2] No such file or directory",
        "SyntaxError: invalid syntax", "train.py: error: unrecognized arguments: --a=1"}) {
    const auto cause = cause_of(std::string(line) + "\n");
    ASSERT_TRUE(cause) << line;
    EXPECT_EQ(cause->restart, RestartHelps::kNo) << line;
  }
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

TEST(FindCause, HoldsNamesOfVariablesForNoProgress) {
  EXPECT_EQ(cause_line("E0101 11:11:00 1359 api.cc:7] bad batch\n"
                       "gradient_acc_step * world_size 64 != 4\n"),
            "E0101 11:11:00 1359 api.cc:7] bad batch");
  EXPECT_EQ(cause_line("E0101 11:11:00 1359 api.cc:7] bad batch\nstep: 4\n"), "-");
  EXPECT_EQ(cause_line("E0101 11:11:00 1359 api.cc:7] bad batch\niteration        4/ 9\n"), "-");
}

TEST(FindCause, PrefersWhatIsKnownToALaunchersWords) {
  const std::string known = "step 1 loss 2\nModuleNotFoundError: No module named 'apex'\n";
  const std::string launcher = "[ERROR] ['python', 'train.py'] exits with return code = 1\n";
  EXPECT_EQ(cause_line(known + repeated("step 1 loss 2\n", 2) + launcher),
            "ModuleNotFoundError: No module named 'apex'")
      << "steps of other ranks";
  EXPECT_THAT(cause_line(known + repeated("step 2 loss 2\n", 9) + launcher), HasSubstr("[ERROR]"))
      << "the job went on";
  EXPECT_EQ(cause_line(known + "step 1 loss 2\n"), "-");
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
  EXPECT_LE(catalog.rows().size(), 80U);
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
