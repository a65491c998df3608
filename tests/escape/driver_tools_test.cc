// The drivers' tools that trainit runs as root: nvidia-smi, npu-smi, hccn_tool. The job's user has
// one of its own in the PATH.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using rules::Result;
using rules::Words;
using testing::HasSubstr;

class DriverTools : public Border {
 protected:
  void put(const std::string& name, uid_t owner, mode_t mode) const {
    write(name,
          "#!/bin/sh\necho \"ran $LD_PRELOAD\" >>" + path("out/ran") + "\necho ipaddr:10.1.0.1\n");
    give(name, owner, mode);
  }

  [[nodiscard]] Result run_as_root(const Words& args, const std::string& bin) const {
    rules::Spec spec = contained(args);
    std::erase_if(spec.env, [](const std::string& entry) { return entry.starts_with("PATH="); });
    spec.env.push_back("PATH=" + path(bin) + ":/usr/bin:/bin");
    spec.env.push_back("LD_PRELOAD=" + path("home/evil.so"));
    return rules::run(spec);
  }

  [[nodiscard]] std::vector<Words> commands() const {
    return {{"doctor", "--only", "gpu"},
            {"doctor", "--only", "npu"},
            {"ranktable", "generate", "--devices", "0", "--server-id", "a"},
            joined({"run"}, ranks(1, {"/bin/false"}, {"--max-restarts", "1"})),
            {"plan", "--bind", "numa", "--fan-out", "--slots", "2", "--", "true"}};
  }
};

TEST_F(DriverTools, OfTheJobsUserAreNotRun) {
  make("home/bin", kJob, 0755);
  make("out/bin", 0, 0777);
  make("tmp/bin", 0, 0755);
  for (const char* name : {"nvidia-smi", "npu-smi", "hccn_tool"}) {
    put(std::string("home/bin/") + name, kJob, 0755);  // its own directory and file
    put(std::string("out/bin/") + name, 0, 0755);      // a directory that all may write
    put(std::string("tmp/bin/") + name, 0, 0777);      // a file that all may write
  }
  for (const char* bin : {"home/bin", "out/bin", "tmp/bin"}) {
    for (const Words& command : commands()) {
      const Result result = run_as_root(command, bin);
      EXPECT_FALSE(exists("out/ran"))
          << bin << testing::PrintToString(command) << read(path("out/ran"));
      if (command[0] == "plan") continue;
      EXPECT_THAT(result.out + result.err, HasSubstr("others may change it"));
    }
  }
}

TEST_F(DriverTools, OfRootAreRunWithoutTheJobsLibraries) {
  make("root/bin", 0, 0755);
  put("root/bin/hccn_tool", 0, 0755);
  const Result result =
      run_as_root({"ranktable", "generate", "--devices", "0", "--server-id", "a"}, "root/bin");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/ran")), "ran \n");
}

}  // namespace
