// --output tee in a container: a full log volume, a killed tee, a terminal, a stop.

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/docker/job.h"

namespace docker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Tee : public JobTest {
 protected:
  Tee() { scratch_.write(kTable, rank_table(1)); }

  // The numbers of `payload count` as docker logs shows them, without trainit's lines.
  static std::vector<long> numbers_in(const std::string& log) {
    std::vector<long> numbers;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      const bool number = !line.empty() && std::ranges::all_of(line, [](char c) {
        return (c >= '0' && c <= '9') || c == '\r';
      });
      if (number) numbers.push_back(std::stol(line));
    }
    return numbers;
  }
  static void expect_count(const std::vector<long>& numbers, long last) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(last));
    for (long i = 0; i < last; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i + 1);
  }
};

TEST_F(Tee, GoesOnWithoutTheFileWhereTheLogVolumeIsFull) {
  const auto job = start({.command = {"count", "20000", "exit", "4"},
                          .options = {"--output", "tee", "--log-dir", "/small"},
                          .flags = {"--tmpfs", "/small:size=64k"}});

  EXPECT_EQ(job->wait(), 4);
  const std::string log = job->logs();
  EXPECT_THAT(log, HasSubstr("No space left on device (ENOSPC)"));
  expect_count(numbers_in(log), 20000);
}

TEST_F(Tee, KilledCostsNothingOfWhatIsWrittenAfterwards) {
  const auto job = start({.command = {"wait-file", "/out/go", "count", "20000", "exit", "9"},
                          .options = {"--output", "tee"}});
  await_ranks(1);
  const Output killed = job->exec({"payload", "kill-named", "trainit-tee", "KILL"});
  ASSERT_EQ(killed.code, 0) << killed.text;
  EXPECT_TRUE(job->await_log("another one goes on"));
  scratch_.write("out/go", "");

  EXPECT_EQ(job->wait(), 9);
  expect_count(numbers_in(job->logs()), 20000);
  expect_count(numbers_in(log_of(0)), 20000);
}

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
