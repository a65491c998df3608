#include "init/engine/state/state_writer.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/init/child.h"

namespace {

using engine::JobReport;
using testing::IsEmpty;
using testing::SizeIs;

JobReport running() {
  JobReport report;
  report.phase = "running";
  report.state = "running";
  report.tasks.resize(4);
  return report;
}

JobReport ended(std::size_t lines) {
  JobReport report = running();
  report.phase = "exited";
  report.state = "error";
  report.exit_code = 3;
  report.first_failure = "rank-0 exited with code 3";
  report.failure.task = "rank-0";
  report.failure.last_lines.assign(lines, std::string(400, 'x'));
  return report;
}

class StateWriter : public child::Scratch {
 protected:
  // What state.json holds after `body`, which has a directory of `bytes` of its own.
  JobReport state_after(const std::string& bytes,
                        const std::function<void(engine::StateWriter&)>& body) {
    ::mkdir(path("run").c_str(), 0755);
    const child::OwnMounts mounts;
    skipped_ = !mounts.add_tmpfs(path("run"), 0, ("size=" + bytes).c_str());
    if (skipped_) return {};
    engine::StateWriter writer;
    writer.open(base::Environ({"TRAINIT_RUN_DIR=" + path("run")}));
    body(writer);
    auto report = engine::state_from_json(read(path("run/state.json")), "state.json");
    EXPECT_TRUE(report) << to_line(report.error());
    return report.value_or(JobReport{});
  }
  void fill_the_disk() const {
    std::ofstream(path("run/fill"), std::ios::binary) << std::string(1 << 20, 'x');
  }

  bool skipped_ = false;
};

TEST_F(StateWriter, ReplacesTheStateWhereThereIsRoom) {
  const JobReport report = state_after("64k", [&](engine::StateWriter& writer) {
    writer.write(running(), false);
    writer.note_change();
    writer.write(ended(10), true);
  });
  if (skipped_) GTEST_SKIP() << "mounting takes root";
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_THAT(report.failure.last_lines, SizeIs(10));
}

TEST_F(StateWriter, FollowsADirectoryThatWasMadeAnew) {
  for (const bool moved : {false, true}) {
    ::mkdir(path("run").c_str(), 0755);
    engine::StateWriter writer;
    writer.open(base::Environ({"TRAINIT_RUN_DIR=" + path("run")}));
    writer.write(running(), false);
    if (moved) {
      std::filesystem::rename(path("run"), path("moved"));
    } else {
      std::filesystem::remove_all(path("run"));
    }
    ::mkdir(path("run").c_str(), 0755);
    writer.note_change();
    writer.write(ended(0), false);
    auto report = engine::state_from_json(read(path("run/state.json")), "state.json");
    ASSERT_TRUE(report) << to_line(report.error());
    EXPECT_EQ(report->phase, "exited");
  }
}

TEST_F(StateWriter, KeepsTheOldStateOnAFullDiskUntilTheLast) {
  const JobReport report = state_after("64k", [&](engine::StateWriter& writer) {
    writer.write(running(), false);
    fill_the_disk();
    writer.note_change();
    writer.write(ended(0), false);
  });
  if (skipped_) GTEST_SKIP() << "mounting takes root";
  EXPECT_EQ(report.phase, "running");
}

TEST_F(StateWriter, WritesTheLastStateInPlaceOnAFullDisk) {
  const JobReport report = state_after("64k", [&](engine::StateWriter& writer) {
    writer.write(running(), false);
    fill_the_disk();
    writer.note_change();
    writer.write(ended(0), true);
  });
  if (skipped_) GTEST_SKIP() << "mounting takes root";
  EXPECT_EQ(report.phase, "exited");
  EXPECT_THAT(report.tasks, SizeIs(4));
}

// Never half of one: rather a state without what a process printed.
TEST_F(StateWriter, LeavesOutOfTheLastStateWhatAFullDiskCannotTake) {
  for (const std::size_t tasks : {4, 1000}) {
    const JobReport report = state_after("64k", [&](engine::StateWriter& writer) {
      writer.write(running(), false);
      fill_the_disk();
      writer.note_change();
      JobReport last = ended(20);
      last.tasks.resize(tasks);
      last.first_failure.append(tasks, 'y');
      writer.write(last, true);
    });
    if (skipped_) GTEST_SKIP() << "mounting takes root";
    EXPECT_EQ(report.phase, "exited");
    EXPECT_EQ(report.exit_code, 3);
    EXPECT_EQ(report.first_failure.substr(0, 25), "rank-0 exited with code 3");
    EXPECT_THAT(report.failure.last_lines, IsEmpty());
    EXPECT_EQ(report.tasks.size(), tasks == 4 ? 4 : 0);
  }
}

}  // namespace
