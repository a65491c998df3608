// What is started how often, with the built binary: launchers that users type, scripts, processes
// of JAX, and the defaults of an image.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::Not;

class Launchers : public rules::EitherWay {
 protected:
  // On a node of eight devices, with a launcher called msrun that says where it was started.
  [[nodiscard]] Spec on_devices(const Words& command) const {
    write("table.json", rules::rank_table(8));
    write("msrun", "#!/bin/sh\necho started >>\"$HERE/starts\"\n");
    std::filesystem::permissions(path("msrun"), std::filesystem::perms::all);
    return spec(
        joined({"--rank-table", path("table.json"), "--work-dir", path("home"), "--"}, command));
  }
  [[nodiscard]] int starts() const {
    const std::string text = read(path("starts"));
    return static_cast<int>(std::ranges::count(text, '\n'));
  }
};
RULES_EITHER_WAY(Launchers);

TEST_P(Launchers, ATypedOneIsStartedOnceOnANodeOfDevices) {
  Instance instance(on_devices({path("msrun"), "--join=True", "train.py"}));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(starts(), 1);
}

TEST_P(Launchers, OneInAShellsTextIsStartedOnce) {
  Instance instance(on_devices(
      {"/bin/sh", "-c", "cd / && A=b exec \"" + path("msrun") + "\" --join=True train.py"}));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(starts(), 1);
}

TEST_P(Launchers, AScriptIsStartedForEachDeviceAndAWarningSaysHowElse) {
  write("run.sh", "#!/bin/sh\necho started >>\"$HERE/starts\"\n");
  Instance instance(on_devices({"/bin/sh", path("run.sh")}));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(starts(), 8);
  EXPECT_EQ(instance.lines_with("run.sh is started 8 times"), 1);
  EXPECT_EQ(instance.lines_with("--framework single"), 1);
}

TEST_P(Launchers, ProcessesOfJaxMeetAtAPortThatIsFree) {
  Instance instance(spec(joined({"--framework", "jax", "--slots", "2", "--output", "inherit", "--"},
                                rules::shell("echo \"$JAX_PROCESS_ID of $JAX_NUM_PROCESSES at "
                                             "$JAX_COORDINATOR_ADDRESS\" >\"$HERE/jax-"
                                             "$JAX_PROCESS_ID\""))));
  EXPECT_EQ(instance.wait(), 0);
  const std::string first = read(path("jax-0"));
  const std::string second = read(path("jax-1"));
  EXPECT_THAT(first, HasSubstr("0 of 2 at 127.0.0.1:"));
  EXPECT_THAT(first, Not(HasSubstr(":6666")));
  EXPECT_EQ(first.substr(first.find("at")), second.substr(second.find("at")));
}

TEST_P(Launchers, APodOfAnIndexedJobRunsAPlainCommandOnce) {
  Spec pod = spec(joined({"--framework", "single", "--"}, rules::shell("exit 7")));
  pod.env.emplace_back("JOB_COMPLETION_INDEX=3");
  Instance instance(pod);
  EXPECT_EQ(instance.wait(), 7);
}

TEST_P(Launchers, TheDefaultsOfAnImageWaitForTheirOption) {
  Spec job = spec(joined({"--"}, rules::shell("exit 7")));
  for (const char* variable :
       {"TRAINIT_NO_RESTART_ON=1-2", "TRAINIT_RESTART_DELAY=1s", "TRAINIT_MIN_NODES=2",
        "TRAINIT_RESTART_WINDOW=1m", "TRAINIT_LOG_KEEP=2", "TRAINIT_PERF_COUNT=2",
        "TRAINIT_STALL_ACTION=end", "TRAINIT_STALL_ON=output"}) {
    job.env.emplace_back(variable);
  }
  Instance instance(job);
  EXPECT_EQ(instance.wait(), 7);
}

}  // namespace
