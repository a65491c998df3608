#include "init/engine/tasks/env_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "init/engine/tasks/start.h"
#include "init/sys/log.h"
#include "tests/init/child.h"

namespace {

using testing::HasSubstr;

// Two ranks: the first was started, the second not yet.
class EnvFiles : public child::Scratch {
 protected:
  EnvFiles() {
    for (int rank = 0; rank < 2; ++rank) {
      envgen::Process process;
      process.name = "rank-" + std::to_string(rank);
      process.env = {{base::EnvEdit::Kind::kSet, "RANK", std::to_string(rank)}};
      process.env_file = path(process.name + ".env");
      job_.plan.processes.push_back(process);
      engine::TaskRecord& record = job_.records.emplace_back();
      record.process = rank;
    }
    job_.records[0].started_ms = 1;
    job_.records[0].pid = 77;
  }
  [[nodiscard]] engine::StartContext context() const {
    return {.base = base_, .own_variables = none_};
  }

  engine::Job job_;
  envgen::Snapshot base_;
  std::vector<std::string> none_;
};

TEST_F(EnvFiles, HoldWhatEachProcessThatWasStartedHas) {
  base_.env = base::Environ({"PATH=/usr/bin:/bin", "API_TOKEN=hidden", "TEXT=a\nb\\c\rd"});
  engine::write_env_files(job_, context());
  EXPECT_EQ(read(path("rank-0.env")),
            "PATH=/usr/bin:/bin\nAPI_TOKEN=***\nTEXT=a\\nb\\\\c\\rd\nTRAINIT_RESTART_COUNT=0\n"
            "RANK=0\n");
  struct stat status{};
  ASSERT_EQ(::stat(path("rank-0.env").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_NE(::stat(path("rank-1.env").c_str(), &status), 0);
}

TEST_F(EnvFiles, NameTheProcessThatASocketWasPassedTo) {
  base_.env = base::Environ({"LISTEN_FDS=1", "LISTEN_PID=1"});
  engine::write_env_files(job_, context());
  EXPECT_THAT(read(path("rank-0.env")), HasSubstr("LISTEN_PID=77\n"));
}

TEST_F(EnvFiles, ThatCannotBeWrittenAreAWarning) {
  job_.plan.processes[0].env_file = path("no/rank.env");
  const auto outcome = child::run([this] {
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    engine::write_env_files(job_, context());
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("warning: writing a file: " + path("no/rank.env") +
                                     ": found No such file or directory (ENOENT); create the "
                                     "directory first, ignoring"));
}

}  // namespace
