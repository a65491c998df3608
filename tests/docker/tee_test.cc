// --output tee in a container: a terminal, a stop.

#include <gmock/gmock.h>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Tee : public JobTest {
 protected:
  Tee() { scratch_.write(kTable, rank_table(1)); }
};

TEST_F(Tee, IsATerminalForTheJobWhereTheContainerHasOne) {
  const auto job = start(
      {.command = {"terminals", "exit", "5"}, .options = {"--output", "tee"}, .flags = {"-t"}});

  EXPECT_EQ(job->wait(), 5);
  EXPECT_THAT(job->logs(), HasSubstr("terminals: 111"));
  EXPECT_EQ(log_of(0), "terminals: 111\n");
}

TEST_F(Tee, HasTheLastWordsOfRanksThatAreStopped) {
  scratch_.write(kTable, rank_table(4));
  const auto job = start({.command = {"report", "term-after", "0", "0"},
                          .options = {"--output", "tee", "--log-max-size", "64k"}});
  await_ranks(4);
  job->stop();

  EXPECT_EQ(job->wait(), 143);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_THAT(job->logs(), HasSubstr("[rank " + number + "] rank " + number + " of 4:"));
  }
  EXPECT_THAT(job->logs(), Not(HasSubstr("the log tee")));
}

}  // namespace
}  // namespace docker
