#include "envgen/plan/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Snapshot node(std::vector<std::string> devices, std::vector<std::string> env = {}) {
  Snapshot snapshot;
  snapshot.env = Environ(std::move(env));
  PathState dev;
  dev.kind = PathState::Kind::kDirectory;
  dev.entries = std::move(devices);
  snapshot.paths["/dev"] = dev;
  return snapshot;
}

std::vector<std::string> gpus(int count) {
  std::vector<std::string> names = {"null", "nvidia-caps", "nvidia-uvm", "nvidiactl"};
  for (int i = 0; i < count; ++i) names.push_back("nvidia" + std::to_string(i));
  return names;
}

DeviceCount count(const Snapshot& snapshot) {
  Request request;
  Inputs inputs(snapshot, request);
  auto result = count_devices(inputs);
  EXPECT_TRUE(result.has_value());
  return result.value_or(DeviceCount{-1, ""});
}

std::optional<int> slots(const Snapshot& snapshot, int told, std::optional<int> asked = {}) {
  Request request;
  request.slots = asked;
  Inputs inputs(snapshot, request);
  return slots_of_node(inputs, told);
}

TEST(Devices, TheDirectoryIsWantedBeforeAnythingIsSaid) {
  Snapshot snapshot;
  Request request;
  Inputs inputs(snapshot, request);
  EXPECT_EQ(count_devices(inputs).has_value(), false);
  EXPECT_EQ(slots_of_node(inputs, 0), std::nullopt);
  EXPECT_THAT(inputs.wants(), ElementsAre(Want{"/dev", true}));
}

TEST(Devices, OnlyNumberedDeviceFilesCount) {
  EXPECT_EQ(count(node(gpus(8))).count, 8);
  EXPECT_EQ(count(node(gpus(8))).source, "/dev/nvidia0 and 7 more");
  EXPECT_EQ(count(node({"nvidia3"})).source, "/dev/nvidia3");
  EXPECT_EQ(count(node({"davinci10", "davinci2", "davinci_manager", "devmm_svm"})).source,
            "/dev/davinci2 and 1 more");
  EXPECT_EQ(count(node({"cambricon", "cambricon_ctl", "cambricon_dev0", "cambricon_dev1",
                        "cambricon_ipcm0"}))
                .count,
            2);
  EXPECT_EQ(count(node(gpus(0))).count, 0);
  Snapshot without;
  without.paths["/dev"] = {};
  EXPECT_EQ(count(without).count, 0);
}

struct Narrowing {
  std::vector<std::string> env;
  int count;
};

TEST(Devices, VariablesNarrowWhatTheDirectoryShows) {
  const std::vector<Narrowing> cases = {
      {{"CUDA_VISIBLE_DEVICES=0,1"}, 2},
      {{"CUDA_VISIBLE_DEVICES=2, 5,7"}, 3},
      {{"CUDA_VISIBLE_DEVICES="}, 0},
      {{"CUDA_VISIBLE_DEVICES=-1"}, 0},
      {{"CUDA_VISIBLE_DEVICES=0,-1,2"}, 1},
      {{"CUDA_VISIBLE_DEVICES=GPU-5b6e-11,GPU-5b6e-12"}, 2},
      {{"CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7,8,9"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=4,5,6"}, 3},
      {{"NVIDIA_VISIBLE_DEVICES=4,5,6", "CUDA_VISIBLE_DEVICES=0"}, 1},
      {{"NVIDIA_VISIBLE_DEVICES=all"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=void"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES="}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=MIG-1,MIG-2"}, 2},
      {{"ASCEND_VISIBLE_DEVICES=0"}, 8},
  };
  for (const Narrowing& narrowing : cases) {
    EXPECT_EQ(count(node(gpus(8), narrowing.env)).count, narrowing.count) << narrowing.env[0];
  }
}

TEST(Devices, PartsOfOneDeviceMayBeMoreThanDevices) {
  EXPECT_EQ(count(node(gpus(1), {"CUDA_VISIBLE_DEVICES=MIG-1,MIG-2,MIG-3"})).count, 3);
}

TEST(Devices, AVariableAloneMakesNoDevice) {
  EXPECT_EQ(count(node(gpus(0), {"CUDA_VISIBLE_DEVICES=0,1"})).count, 0);
}

TEST(Devices, AscendListsHaveRanges) {
  const std::vector<std::string> npus = {"davinci0", "davinci1", "davinci2", "davinci3",
                                         "davinci4", "davinci5", "davinci6", "davinci7"};
  EXPECT_EQ(count(node(npus, {"ASCEND_VISIBLE_DEVICES=0-3,6"})).count, 5);
  EXPECT_EQ(count(node(npus, {"ASCEND_VISIBLE_DEVICES=Ascend910-0,Ascend910-1"})).count, 2);
  EXPECT_EQ(count(node(npus, {"ASCEND_RT_VISIBLE_DEVICES=0,1"})).source,
            "ASCEND_RT_VISIBLE_DEVICES");
}

TEST(Devices, SlotsAreAskedForElseToldElseCountedElseOne) {
  EXPECT_EQ(slots(node(gpus(8)), 4, 2), 2);
  EXPECT_EQ(slots(node(gpus(8)), 4), 4);
  EXPECT_EQ(slots(node(gpus(8)), 0), 8);
  EXPECT_EQ(slots(node(gpus(0)), 0), 1);
  Snapshot unseen;
  Request request;
  Inputs inputs(unseen, request);
  EXPECT_EQ(slots_of_node(inputs, 4), 4);
  EXPECT_THAT(inputs.wants(), IsEmpty());
}

}  // namespace
}  // namespace envgen
