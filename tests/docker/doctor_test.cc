// What doctor says of containers as engines make them.

#include <gmock/gmock.h>

#include "tests/docker/container.h"

namespace docker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Doctor : public EngineTest {
 protected:
  // The log of `trainit doctor ARGS` in a container with these flags, behind its exit code.
  [[nodiscard]] static std::string doctor(Words flags, const Words& args) {
    flags.push_back("--entrypoint=trainit");
    Words all = {"doctor"};
    all.insert(all.end(), args.begin(), args.end());
    const Container container(flags, all);
    const int code = container.wait();
    return std::to_string(code) + "\n" + container.logs();
  }
};

TEST_F(Doctor, NamesTheSharedMemoryThatAContainerHasByDefault) {
  EXPECT_THAT(
      doctor({}, {"--only", "shm"}),
      AllOf(HasSubstr("0\n"), HasSubstr("warning  /dev/shm: 64 MiB"), HasSubstr("--shm-size")));
  EXPECT_THAT(doctor({"--shm-size=2g"}, {"--only", "shm"}), HasSubstr("ok       /dev/shm: 2 GiB"));
}

TEST_F(Doctor, ReadsTheLimitsOfTheContainer) {
  EXPECT_THAT(doctor({"--memory=64m"}, {"--only", "memory"}),
              AllOf(HasSubstr("64 MiB for the container"), HasSubstr("less than 1 GiB")));
  EXPECT_THAT(doctor({"--pids-limit=40"}, {"--only", "pids", "--", "true"}),
              AllOf(HasSubstr("pids.max 40"), HasSubstr("--pids-limit")));
  EXPECT_THAT(doctor({"--ulimit=nofile=512:512"}, {"--only", "nofile"}),
              AllOf(HasSubstr("warning  512"), HasSubstr("--ulimit")));
}

TEST_F(Doctor, WantsADataSetThatIsMountedReadOnly) {
  const Scratch data;
  const std::string place = data.path("");
  EXPECT_THAT(doctor({"-v", place + ":/dataset:ro"}, {"--only", "datasets"}),
              HasSubstr("ok       /dataset: read-only"));
  EXPECT_THAT(doctor({"-v", place + ":/dataset"}, {"--only", "datasets"}),
              AllOf(HasSubstr("warning"), HasSubstr("mounted writable")));
}

TEST_F(Doctor, EndsInOrderWithWhateverAContainerLacks) {
  for (const Words& flags : {Words{}, Words{"--read-only", "--user=1000:100", "--cap-drop=ALL"},
                             Words{"--security-opt=seccomp=unconfined"}, Words{"--ipc=none"}}) {
    const std::string log = doctor(flags, {});
    EXPECT_THAT(log, AllOf(HasSubstr("kernel "), HasSubstr(" failed, ")));
    EXPECT_TRUE(log.starts_with("0\n") || log.starts_with("1\n")) << log;
  }
}

}  // namespace
}  // namespace docker
