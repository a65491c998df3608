// Who holds the devices of a job, on machines that are trees of files.

#include "init/doctor/holders.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/init/child.h"

namespace {

using doctor::DeviceHolders;
using envgen::DeviceWait;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;

class Holders : public child::Scratch {
 protected:
  Holders() {
    context_.root = path("");
    context_.limit_ms = 180'000;
    make("proc");
  }

  void make(const std::string& name) const { ASSERT_TRUE(sys::make_directories(path(name), 0755)); }
  // That began at `start` and has these files open.
  void process(int pid, const std::string& name, std::initializer_list<std::string> files,
               int start = 1000) const {
    const std::string base = "proc/" + std::to_string(pid);
    make(base + "/fd");
    write(base + "/comm", name + "\n");
    write(base + "/stat", std::to_string(pid) + " (" + name +
                              ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(start) +
                              " 0 0\n");
    int number = 3;
    for (const std::string& file : files) {
      const std::string link = path(base + "/fd/" + std::to_string(number++));
      ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
    }
  }
  void program(const std::string& name, const std::string& script) {
    make("bin");
    write("bin/" + name, "#!/bin/sh\n" + script, 0755);
    context_.start.set("PATH", path("bin") + ":/usr/bin:/bin");
  }
  [[nodiscard]] DeviceHolders look(const std::vector<DeviceWait::Device>& devices) const {
    return doctor::find_holders(context_, devices, 500);
  }

  doctor::Context context_;
  std::vector<DeviceWait::Device> npus_ = {{"/dev/davinci0"}, {"/dev/davinci4"}};
  std::vector<DeviceWait::Device> gpus_ = {{"/dev/nvidia0", "0000:0a:00.0"},
                                           {"/dev/nvidia1", "0000:0b:00.0"}};
};

TEST_F(Holders, AreNamedWithAllTheyHold) {
  process(12, "python", {"/dev/null", "/dev/davinci0", "/dev/davinci4", "/dev/davinci0"});
  process(13, "sh", {"/dev/davinci4 (deleted)"});
  const DeviceHolders found = look(npus_);
  EXPECT_EQ(found.held,
            "pid 12 (python) holds /dev/davinci0, /dev/davinci4; pid 13 (sh) holds /dev/davinci4");
  EXPECT_EQ(found.unknown, "");
}

TEST_F(Holders, AreNamedUpToEight) {
  for (int pid = 10; pid < 20; ++pid) process(pid, "python", {"/dev/davinci0"});
  EXPECT_THAT(look(npus_).held, EndsWith("; pid 17 (python) holds /dev/davinci0; and 2 more"));
}

TEST_F(Holders, AreNotThoseOfOtherDevices) {
  process(12, "python", {"/dev/davinci_manager", "/dev/davinci1", "/dev/davinci40", "/data"});
  EXPECT_EQ(look(npus_).held, "");
}

TEST_F(Holders, AreNotThoseThatWereThereBeforeTheJob) {
  process(12, "nvidia-persiste", {"/dev/nvidia0"}, 499);
  program("nvidia-smi", "echo '00000000:0A:00.0, 12, nvidia-persistenced'");
  EXPECT_EQ(look(gpus_).held, "") << "nor when the tool names it";
}

// --- The drivers' tools ---

constexpr const char* kNpuTable =
    "| NPU   Name      | Health | Power |\n| Chip  Phy-ID    | Bus-Id | x     |\n+==+\n"
    "| 2     910_93    | OK     | 85.0  |\n| 0     4         | 0000:C1:00.0 | 0 |\n+==+\n"
    "| 2     910_93    | OK     | 85.0  |\n| 1     5         | 0000:01:00.0 | 0 |\n+==+\n"
    "| NPU     Chip    | Process id | Process name | memory |\n+==+\n"
    "| 2       1       | 11         | python       | 27977  |\n+==+\n";

TEST_F(Holders, AreAlsoThoseThatNpuSmiNamesOnADeviceOfTheJob) {
  write("npu.txt", kNpuTable);
  program("npu-smi", "cat " + path("npu.txt"));
  EXPECT_EQ(look(npus_).held, "") << "of davinci5";
  write("npu.txt", std::string(kNpuTable) + "| 2       0       | 99910      |  | 27977 |\n+==+\n");
  EXPECT_EQ(look(npus_).held, "pid 99910 (says npu-smi) holds /dev/davinci4");
}

TEST_F(Holders, AreAlsoThoseThatNvidiaSmiNamesOnADeviceOfTheJob) {
  program("nvidia-smi",
          "[ \"$*\" = '--query-compute-apps=gpu_bus_id,pid,process_name --format=csv,noheader' ] "
          "&& echo '00000000:0B:00.0, 7, /usr/bin/python, x' && echo '00000000:0C:00.0, 8, b'");
  EXPECT_EQ(look(gpus_).held, "pid 7 (/usr/bin/python, x, says nvidia-smi) holds /dev/nvidia1");
  gpus_ = {{"/dev/nvidia0"}};
  EXPECT_THAT(look(gpus_).held, HasSubstr("holds GPU 0000:0c:00.0")) << "whose it is is not known";
}

TEST_F(Holders, AreAskedOfTheToolsOnlyWhereProcShowsNobody) {
  process(12, "python", {"/dev/nvidia0"});
  program("nvidia-smi", "echo asked >>" + path("asked"));
  EXPECT_EQ(look(gpus_).held, "pid 12 (python) holds /dev/nvidia0");
  EXPECT_EQ(read(path("asked")), "");
}

TEST_F(Holders, OfNoDeviceOfAKindAreNotAskedOfItsTool) {
  program("nvidia-smi", "echo asked >>" + path("asked"));
  program("npu-smi", "echo asked >>" + path("asked"));
  const DeviceHolders found = look({{"/dev/cambricon_dev0"}});
  EXPECT_EQ(found.held + found.unknown, "");
  EXPECT_EQ(read(path("asked")), "");
}

TEST_F(Holders, AreNotKnownWhereTheToolFails) {
  program("nvidia-smi", "echo 'NVIDIA-SMI has failed because the driver is gone'; exit 9");
  program("npu-smi", "echo 'dcmi module initialize failed. ret is -8005'; exit 1");
  EXPECT_THAT(look(gpus_).unknown, HasSubstr("NVIDIA-SMI has failed because"));
  EXPECT_THAT(look(npus_).unknown, HasSubstr("npu-smi"));
  program("nvidia-smi", "echo 'No devices were found'");
  EXPECT_EQ(look(gpus_).unknown, "");
}

TEST_F(Holders, AreNotWaitedForWhereTheToolHangs) {
  program("npu-smi", "exec sleep 1000");
  context_.limit_ms = 1000;
  const DeviceHolders found = look(npus_);
  EXPECT_EQ(found.held, "");
  // By the look's time, where a busy machine leaves the tool's no room.
  EXPECT_THAT(found.unknown, AnyOf(HasSubstr("npu-smi has not answered within 0.8 s"),
                                   HasSubstr("no answer within 1 s")));
}

}  // namespace
