// The manifests of images/pods, run as the kubelet and their controllers would (tests/pods): the
// init container installs trainit into a volume, and an image that has none of our files starts
// with it, on a read-only root, as uid 1000, without capabilities.

#include <gmock/gmock.h>

#include "tests/cluster/cluster.h"
#include "tests/source_path.h"

namespace cluster {
namespace {

using docker::Output;
using docker::run_program;

// One static program, and nothing else: no shell, no libc, no directory.
class Scratch {
 public:
  Scratch() {
    const std::string program = getenv("TRAINIT_PAYLOAD");
    const std::size_t slash = program.rfind('/');
    const docker::Scratch place;
    const std::string tar = place.path("image.tar");
    const Output packed =
        run_program({"tar", "-C", program.substr(0, slash), "-cf", tar, program.substr(slash + 1)});
    EXPECT_EQ(packed.code, 0) << packed.text;
    const Output imported = run_program({"docker", "import", tar, name_});
    EXPECT_EQ(imported.code, 0) << imported.text;
  }
  ~Scratch() { run_program({"docker", "rmi", "-f", name_}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_ = docker::unique_name();
};

class Pods : public ClusterTest {
 protected:
  static void exercise(const std::string& manifest, const std::string& image, const Words& what) {
    const std::string folder = source_path("tests") + "/";
    Words argv = {folder + "pods/exercise.py", manifest, tag_of(Image::kInstaller), image};
    argv.insert(argv.end(), what.begin(), what.end());
    const Output done = run_program(argv);
    EXPECT_EQ(done.code, 0) << done.text;
  }

  // All pods of the job with this script as /workspace/train.py.
  static void train(const std::string& manifest, Image image, const std::string& script) {
    exercise(manifest, tag_of(image),
             {"end", source_path("tests/" + script), "rank [03] of 4 on "});
  }

  // Of a job that runs `command`, which may use tests/pods/failing.py as /workspace/train.py.
  static void expect_message(const std::string& manifest, Image image, const std::string& memory,
                             const std::string& command, const Words& texts) {
    Words what = {"message", source_path("tests/pods/failing.py"), memory, command};
    what.insert(what.end(), texts.begin(), texts.end());
    exercise(manifest, tag_of(image), what);
  }
};

TEST_F(Pods, TheInstallerHoldsOneFile) {
  const Output layers = run_program(
      {"docker", "history", "--format={{.Size}}", "--human=false", tag_of(Image::kInstaller)});
  const std::string saved = scratch_.path("image.tar");
  ASSERT_EQ(run_program({"docker", "save", "-o", saved, tag_of(Image::kInstaller)}).code, 0);
  const Output files =
      run_program({"sh", "-c",
                   "for layer in $(tar -tf " + saved + " | grep layer.tar); do tar -xOf " + saved +
                       " $layer | tar -t; done"});
  EXPECT_EQ(files.text, "trainit\n") << layers.text;
}

TEST_F(Pods, APodStopsWithinItsGraceInAnImageWithoutAShell) {
  exercise("pod.yaml", Scratch().name(), {"stop", "/payload", "ignore-term"});
}

TEST_F(Pods, APodThatFailsStaysForTheDebugWindow) {
  exercise("pod.yaml", Scratch().name(), {"fail", "/payload", "exit", "7"});
}

TEST_F(Pods, TheTerminationMessageNamesTheModuleThatIsMissing) {
  expect_message(
      "pod.yaml", Image::kMpi, "", "python3 /workspace/train.py import",
      {"main exited with code 1", "ModuleNotFoundError: No module named 'no_such_module'",
       "install the package", "/workspace/train.py\", line"});
}

TEST_F(Pods, TheTerminationMessageTellsTheMemoryLimit) {
  expect_message("pod.yaml", Image::kMpi, "256m", "python3 /workspace/train.py memory",
                 {"main was killed by SIGKILL", "out of memory, the kernel's OOM killer struck"});
}

TEST_F(Pods, TheTerminationMessageTellsAFullSharedMemory) {
  expect_message("pod.yaml", Image::kMpi, "", "python3 /workspace/train.py shm",
                 {"main was killed by SIGBUS", "/dev/shm"});
}

TEST_F(Pods, TheTerminationMessageNamesTheRankOfATorchrunThatWasTyped) {
  expect_message("pod.yaml", Image::kTorch, "",
                 "torchrun --standalone --nproc_per_node 2 /workspace/train.py exception 1",
                 {"rank 1 (in torchrun, on ", "exited with code 1", "ValueError: shard 7 is empty",
                  "Traceback"});
}

TEST_F(Pods, TheTerminationMessageNamesTheRankOfAnotherNode) {
  expect_message("job.yaml", Image::kMpi, "", "python3 /workspace/train.py exception 3",
                 {"rank-3 (node 1", "exited with code 1", "ValueError: shard 7 is empty"});
}

TEST_F(Pods, AnIndexedJobTrains) { train("job.yaml", Image::kMpi, "pods/report.py"); }

TEST_F(Pods, AJobSetTrains) { train("jobset.yaml", Image::kMpi, "pods/report.py"); }

TEST_F(Pods, ALeaderWorkerSetTrains) {
  train("leaderworkerset.yaml", Image::kMpi, "pods/report.py");
}

// With GPUs it is the same but for the launcher, which is PyTorchJob's.
TEST_F(Pods, AVolcanoJobTrains) { train("volcano-mlu.yaml", Image::kMpi, "pods/report.py"); }

TEST_F(Pods, AnAscendJobWaitsForTheRankTableOfItsConfigMap) {
  train("volcano-ascend.yaml", Image::kMpi, "pods/report.py");
}

TEST_F(Pods, AnAscendJobTrainsByTheOperatorsVariables) {
  train("ascendjob.yaml", Image::kMpi, "pods/report.py");
}

TEST_F(Pods, ATrainJobTrains) {
  train("trainjob.yaml", Image::kTorch, "cluster/torch_allreduce.py");
}

TEST_F(Pods, ATFJobTrains) {
  exercise("tfjob.yaml", tag_of(Image::kMpi),
           {"end", source_path("tests/pods/report.py"), "rank ps 0 of "});
}

TEST_F(Pods, ThePodOfANodeRemovesTheCopiesOfAllUsers) {
  exercise("cache-gc.yaml", tag_of(Image::kMpi), {"gc"});
}

TEST_F(Pods, AnMpiJobTrains) { train("mpijob.yaml", Image::kMpi, "cluster/mpi_allreduce.py"); }

TEST_F(Pods, APyTorchJobTrains) {
  train("pytorchjob.yaml", Image::kTorch, "cluster/torch_allreduce.py");
}

}  // namespace
}  // namespace cluster
