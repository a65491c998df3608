// Where containers are narrower than a laptop: nothing to write to, no root, nobody who reads.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Confinement : public JobTest {
 protected:
  Confinement() { scratch_.write(kTable, rank_table(2)); }
};

TEST_F(Confinement, RunsAsAnyUserOnAReadOnlyRootWithATmpfs) {
  const auto job = start({.command = {"report", "exit", "0"},
                          .flags = {"--read-only", "--user=1000:100", "--tmpfs=/tmp",
                                    "--security-opt=no-new-privileges", "--cap-drop=ALL"}});

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(job->logs(), ContainsRegex("rank 0 of 2: .*cwd=/.*/device0 "));
  EXPECT_THAT(log_of(1), ContainsRegex("rank 1 of 2: .*cwd=/.*/device1 "));
}

// What is left is /dev/shm, which every engine mounts.
TEST_F(Confinement, RunsAsAnyUserOnAReadOnlyRootWithoutATmpfs) {
  const auto job = start({.command = {"report", "exit", "0"},
                          .flags = {"--read-only", "--user=1000:100", "--cap-drop=ALL"},
                          .payload_records = false});

  EXPECT_EQ(job->wait(), 0);
  EXPECT_THAT(job->logs(), ContainsRegex("rank 0 of 2: .*cwd=/dev/shm/.*/device0 "));
}

TEST_F(Confinement, StopsInTimeAsAnyUser) {
  const auto job = start({.command = {"grandchild", "handle"},
                          .flags = {"--read-only", "--user=1000:100", "--cap-drop=ALL"}});
  await_ranks(2);

  job->stop();

  EXPECT_EQ(job->wait(), 143);
  EXPECT_EQ(told("grandchild-term", 2), 2);
}

// With nothing to write to there is no place for the table that HCCL reads.
TEST_F(Confinement, WithNothingToWriteToIsA125ThatSaysWhatToDo) {
  const auto job =
      start({.command = {"report", "exit", "0"},
             .flags = {"--read-only", "--user=1000:100", "--ipc=none", "--cap-drop=ALL"},
             .payload_records = false});

  EXPECT_EQ(job->wait(), 125);
  EXPECT_THAT(job->logs(), HasSubstr("TRAINIT_RUN_DIR"));
}

// A pipe that somebody holds and never reads is all that trainit and its ranks have to write to.
class UnreadPipe : public Confinement {
 protected:
  UnreadPipe() {
    const std::string fifo = scratch_.path("out/unread");
    mkfifo(fifo.c_str(), 0666);
    held_ = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~UnreadPipe() override { close(held_); }

  [[nodiscard]] std::unique_ptr<Container> start_into_pipe(const JobSpec& spec) const {
    Words args = {"exec-into", "/out/unread", "trainit"};
    const Words trainit = args_of(spec);
    args.insert(args.end(), trainit.begin(), trainit.end());
    Words flags = flags_of(spec);
    flags.emplace_back("--entrypoint=payload");
    return std::make_unique<Container>(flags, args);
  }

 private:
  int held_ = -1;
};

TEST_F(UnreadPipe, DoesNotKeepAFailureFromEndingTheJob) {
  const auto job = start_into_pipe(
      {.command = {"on-rank", "0", "stdout-flood", "else", "wait-file", "/out/go", "exit", "3"},
       .options = {"--grace=4s"}});
  scratch_.await("out/blocked-0");
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 3);
}

}  // namespace
}  // namespace docker
