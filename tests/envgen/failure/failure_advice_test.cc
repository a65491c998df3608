// What the program's rows say of lines that frameworks print: the class, whether a restart can
// help, and what to look at or to set.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "envgen/failure/find_cause.h"

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Said {
  std::string line, failure_class, restart, advice, not_advice;
};

// As the last line of a traceback.
FoundCause cause_of_exception(const std::string& line) {
  const auto cause = find_cause(
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n" +
          line + "\n",
      FailureCatalog::shipped());
  EXPECT_TRUE(cause && cause->line == line) << line;
  return cause.value_or(FoundCause{});
}

void expect_advice(const std::vector<Said>& all) {
  for (const auto& [line, failure_class, restart, advice, not_advice] : all) {
    const FoundCause cause = cause_of_exception(line);
    EXPECT_EQ(cause.failure_class, failure_class) << line;
    EXPECT_EQ(restart_name(cause.restart), restart) << line;
    EXPECT_THAT(cause.advice, HasSubstr(advice)) << line;
    if (!not_advice.empty()) EXPECT_THAT(cause.advice, Not(HasSubstr(not_advice))) << line;
  }
}

TEST(FailureAdvice, OfFilesNamesWhatIsWrongWithThem) {
  expect_advice({
      {"_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so "
       "you have two options",
       "checkpoint", "unknown", "weights_only=False", "broken"},
      {"_pickle.UnpicklingError: invalid load key, 'v'.", "checkpoint", "unknown", "LFS", ""},
      {"UnicodeDecodeError: 'ascii' codec can't decode byte 0xe4 in position 12: ordinal not in "
       "range(128)",
       "script-error", "unknown", "PYTHONUTF8=1", "sha256sum"},
      {"UnicodeEncodeError: 'latin-1' codec can't encode characters in position 0-1",
       "script-error", "unknown", "PYTHONUTF8=1", ""},
      {"UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte",
       "data", "unknown", "encoding=", "PYTHONUTF8"},
      {"requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "data",
       "yes", "response.status_code", "sha256sum"},
      {"json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 40)", "data", "unknown",
       "JSON Lines", ""},
      {"TypeError: h5py objects cannot be pickled", "script-error", "unknown", "__getitem__",
       "missing"},
      {"BlockingIOError: [Errno 11] Unable to synchronously open file (unable to lock file, errno "
       "= 11, error message = 'Resource temporarily unavailable')",
       "data", "yes", "HDF5_USE_FILE_LOCKING=FALSE", "ulimit"},
      {"OSError: Can't read data (inflate() failed)", "data", "unknown", "broken", ""},
      {"ModuleNotFoundError: No module named 'h5py'", "python-import", "no", "pip install", ""},
      {"ValueError: h5py is happy, the batch is not", "script-error", "unknown", "", "missing"},
      {"FileNotFoundError: [Errno 2] Unable to open file (name = 'a.h5')", "data", "unknown",
       "ls -l PATH", ""},
  });
}

// The client raises its own, behind the one of the parser.
TEST(FailureAdvice, OfAnHttpAnswerIsForWhatTheClientRaised) {
  const std::string end = "JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n";
  const std::string begin = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n";
  const auto cause =
      find_cause(begin + "    json()\njson.decoder." + end +
                     "\nDuring handling of the above exception, another exception occurred:\n\n" +
                     begin + "    post()\nrequests.exceptions." + end,
                 FailureCatalog::shipped());
  ASSERT_TRUE(cause);
  EXPECT_THAT(cause->line, testing::StartsWith("requests.exceptions.JSONDecodeError"));
  EXPECT_THAT(cause->advice, HasSubstr("response.text"));
}

TEST(FailureAdvice, OfLibrariesThatDoNotFitNamesThem) {
  expect_advice({
      {"ImportError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS "
       "block",
       "python-import", "no", "LD_PRELOAD", "pip install"},
      {"ImportError: /opt/ext.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "python-import",
       "no", "ldd -r", "pip install"},
      {"ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "python-import",
       "no", "libstdc++", "pip install"},
      {"RuntimeError: operator torchvision::nms does not exist", "python-import", "no",
       "collect_env", ""},
  });
  const auto cause = find_cause("python3: symbol lookup error: /opt/ext.so: undefined symbol: f\n",
                                FailureCatalog::shipped());
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->failure_class, "python-import");
  EXPECT_THAT(cause->advice, HasSubstr("ldd -r"));
}

TEST(FailureAdvice, OfScriptsNamesTheCallToChange) {
  expect_advice({
      {"RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
       "multiprocessing, you must use the 'spawn' start method",
       "script-error", "no", "spawn", "nvidia-smi"},
      {"RuntimeError: Cannot re-initialize NPU in forked subprocess.", "script-error", "no",
       "spawn", ""},
      {"RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 768x10)", "script-error",
       "unknown", "in_features", "find_unused"},
      {"RuntimeError: The size of tensor a (77) must match the size of tensor b (64) at "
       "non-singleton dimension 1",
       "script-error", "unknown", ".shape", ""},
      {"RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
       "script-error", "unknown", "autocast", ".shape"},
      {"RuntimeError: Expected all tensors to be on the same device, but found at least two",
       "script-error", "unknown", ".to(device)", "find_unused"},
      {"RuntimeError: one of the variables needed for gradient computation has been modified by an "
       "inplace operation",
       "script-error", "unknown", "set_detect_anomaly", "find_unused"},
      {"RuntimeError: Expected to mark a variable ready only once.", "script-error", "unknown",
       "static_graph=True", "find_unused"},
      {"ValueError: Default process group has not been initialized, please make sure to call "
       "init_process_group.",
       "script-error", "unknown", "init_process_group", "find_unused"},
      {"RuntimeError: DDP expects same model across all ranks, but Rank 0 has 161 params, while "
       "rank 1 has inconsistent 0 params.",
       "script-error", "unknown", "TORCH_DISTRIBUTED_DEBUG=DETAIL", "NCCL"},
      {"AssertionError", "script-error", "unknown", "`assert`", "right"},
      {"AssertionError: num_layers should be divisible by pipeline_model_parallel_size", "config",
       "unknown", "world size", ""},
      {"RuntimeError: CUDA error: device not ready", "script-error", "unknown", "synchronize()",
       "another node"},
  });
}

TEST(FailureAdvice, OfWorkersGoesByTheSignal) {
  expect_advice({
      {"RuntimeError: DataLoader worker (pid 71) is killed by signal: Segmentation fault.",
       "dataloader-worker-killed", "unknown", "PYTHONFAULTHANDLER=1", "memory limit"},
      {"KeyError: Caught KeyError in DataLoader worker process 0.", "data", "unknown",
       "original traceback", "missing"},
      {"RuntimeError: DataLoader worker (pid 71) is killed by signal: Killed.",
       "dataloader-worker-killed", "unknown", "memory limit", ""},
      {"RuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible "
       "that dataloader's workers are out of shared memory.",
       "shm-bus-error", "unknown", "/dev/shm", ""},
  });
}

TEST(FailureAdvice, OfASchedulerOrDriverIsWhatItsManualSays) {
  const FailureCatalog catalog = FailureCatalog::shipped();
  const auto row = [&catalog](std::string_view line) { return catalog.match(line, false).row; };
  const FailureRow* limit =
      row("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2021-05-27T21:52:36 DUE TO TIME LIMIT");
  EXPECT_EQ(limit->restart, RestartHelps::kUnknown) << "this one's time is over as well";
  EXPECT_THAT(limit->advice, HasSubstr("sbatch --time"));
  EXPECT_EQ(row("*** JOB 7 ON n1 CANCELLED AT 2021-05-27T21:52:36 DUE TO PREEMPTION ***")->restart,
            RestartHelps::kYes);
  const FailureRow* taken =
      row("n1:71:71 [1] NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in");
  EXPECT_THAT(taken->advice, HasSubstr("RANK"));
  EXPECT_THAT(taken->advice, Not(HasSubstr("versions")));
  EXPECT_THAT(row("NVRM: Xid (PCI:0000:ed:00): 45, pid=7")->advice, HasSubstr("xid-errors"));
}

// Something to type or to look up: a variable, a path, an option, a command or a number. Of a
// victim the other ranks are it.
TEST(FailureAdvice, IsConcreteInEachRow) {
  for (const FailureRow& row : FailureCatalog::shipped().rows()) {
    if (row.role == FailureRole::kNoise) continue;
    const bool names = row.advice.find_first_of("`_=/0123456789") != std::string::npos ||
                       row.advice.find(" -") != std::string::npos ||
                       row.advice.find("ranks without this message") != std::string::npos;
    EXPECT_TRUE(names) << row.id << ": " << row.advice;
    EXPECT_LT(row.advice.size(), 300U) << row.id << " is cut";
  }
}

}  // namespace
}  // namespace envgen
