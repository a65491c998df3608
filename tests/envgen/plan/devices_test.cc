#include "envgen/plan/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Snapshot node(std::vector<std::string> devices, std::vector<std::string> env = {}) {
  Snapshot snapshot;
  snapshot.env = base::Environ(std::move(env));
  PathState dev;
  dev.kind = PathState::Kind::kDirectory;
  dev.listed = true;
  dev.entries = std::move(devices);
  snapshot.paths["/dev"] = dev;
  return snapshot;
}

std::vector<std::string> gpus(int count) {
  std::vector<std::string> names = {"null", "nvidia-caps", "nvidia-uvm", "nvidiactl"};
  for (int i = 0; i < count; ++i) names.push_back("nvidia" + std::to_string(i));
  return names;
}

// As the collector does: what is wanted and not there becomes absent.
Snapshot collected(Snapshot snapshot) {
  constexpr int kRounds = 10;
  Request request;
  for (int round = 0; round < kRounds; ++round) {
    Inputs inputs(snapshot, request);
    count_devices(inputs);
    for (const Want& want : inputs.wants()) snapshot.paths.emplace(want.path, PathState{});
  }
  return snapshot;
}

DeviceCount count(const Snapshot& snapshot) {
  const Snapshot whole = collected(snapshot);
  Request request;
  Inputs inputs(whole, request);
  auto result = count_devices(inputs);
  EXPECT_TRUE(result.has_value());
  return result.value_or(DeviceCount{-1, ""});
}

std::optional<int> slots(const Snapshot& snapshot, int told, std::optional<int> asked = {}) {
  const Snapshot whole = collected(snapshot);
  Request request;
  request.slots = asked;
  Inputs inputs(whole, request);
  return slots_of_node(inputs, told);
}

void add_directory(Snapshot& snapshot, const std::string& path, std::vector<std::string> entries) {
  PathState state;
  state.kind = PathState::Kind::kDirectory;
  state.listed = true;
  state.entries = std::move(entries);
  snapshot.paths[path] = std::move(state);
}

void add_file(Snapshot& snapshot, const std::string& path, std::string content) {
  PathState state;
  state.kind = PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  snapshot.paths[path] = std::move(state);
}

std::vector<std::string> numbered(const std::string& prefix, int first, int count) {
  std::vector<std::string> names;
  for (int i = first; i < first + count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

std::string text_of(const DeviceCount& count) {
  return (count.known ? "" : "? ") + std::to_string(count.count) + " " + count.source;
}

// An AMD node: CPU sockets, which are nodes of the topology as well, and GPUs with render nodes
// from 128 on, behind that of a display.
Snapshot amd_node(int gpus, int of_container, std::vector<std::string> env = {}) {
  Snapshot snapshot = node({"dri", "kfd"}, std::move(env));
  const std::string place = "/sys/class/kfd/kfd/topology/nodes";
  std::vector<std::string> nodes = {"0"};
  add_file(snapshot, place + "/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
  for (int i = 1; i <= gpus; ++i) {
    nodes.push_back(std::to_string(i));
    add_file(snapshot, place + "/" + nodes.back() + "/properties",
             "simd_count 304\ndrm_render_minor " + std::to_string(128 + i) + "\n");
  }
  add_directory(snapshot, place, nodes);
  add_directory(snapshot, "/dev/dri", numbered("renderD", 128, of_container + 1));
  return snapshot;
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
      {{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, 0},
      {{"CUDA_VISIBLE_DEVICES=6,7,8"}, 2},
      {{"CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7,8,9"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=4,5,6"}, 3},
      {{"NVIDIA_VISIBLE_DEVICES=4,5,6", "CUDA_VISIBLE_DEVICES=0"}, 1},
      {{"NVIDIA_VISIBLE_DEVICES=all"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=void"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES="}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=all"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=0,1,any"}, 8},
      {{"NVIDIA_VISIBLE_DEVICES=MIG-1,MIG-2"}, 1},
      {{"NVIDIA_VISIBLE_DEVICES=0:0,0:1"}, 1},
      {{"CUDA_VISIBLE_DEVICES=MIG-1,MIG-2"}, 1},
      {{"ASCEND_VISIBLE_DEVICES=0"}, 8},
  };
  for (const Narrowing& narrowing : cases) {
    EXPECT_EQ(count(node(gpus(8), narrowing.env)).count, narrowing.count) << narrowing.env[0];
  }
}

TEST(Devices, AProcessSeesOneMigDevice) {
  EXPECT_EQ(count(node(gpus(1), {"CUDA_VISIBLE_DEVICES=MIG-1,MIG-2,MIG-3"})).count, 1);
  Snapshot divided = node(gpus(2));
  add_directory(divided, "/dev/nvidia-caps", {"nvidia-cap1", "nvidia-cap2", "nvidia-cap21"});
  EXPECT_EQ(text_of(count(divided)), "? 0 /dev/nvidia0 and 1 more and MIG devices");
  add_file(divided, "/proc/driver/nvidia-caps/mig-minors", "config 1\ngpu0/gi2/access 21\n");
  EXPECT_EQ(count(divided).count, 1);
  divided.env = base::Environ({"CUDA_VISIBLE_DEVICES=0,1"});
  EXPECT_EQ(count(divided).count, 2);
  Snapshot whole = node(gpus(2));
  add_directory(whole, "/dev/nvidia-caps", {"nvidia-cap1", "nvidia-cap2"});
  EXPECT_EQ(text_of(count(whole)), "2 /dev/nvidia0 and 1 more");
}

TEST(Devices, AVariableAloneIsAQuestion) {
  EXPECT_EQ(text_of(count(node(gpus(0), {"CUDA_VISIBLE_DEVICES=0,1"}))),
            "? 2 CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(text_of(count(node({}, {"MTHREADS_VISIBLE_DEVICES=0,1,2"}))),
            "? 3 MTHREADS_VISIBLE_DEVICES");
  for (const char* none :
       {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=-1", "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_VISIBLE_DEVICES=void", "CUDA_VISIBLE_DEVICES=NoDevFiles",
        "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1", "UI_VISIBLE_TABS=1,2",
        "FOO_VISIBLE_DEVICES=0,1,other"}) {
    EXPECT_EQ(text_of(count(node({}, {none}))), "0 no device in /dev") << none;
  }
}

TEST(Devices, AmdGpusAreThoseOfTheTopologyThatTheContainerWasGiven) {
  EXPECT_EQ(text_of(count(amd_node(8, 8))), "8 /dev/kfd");
  EXPECT_EQ(count(amd_node(8, 2)).count, 2);
  EXPECT_EQ(text_of(count(amd_node(0, 0))), "0 no device in /dev");
  const std::vector<Narrowing> cases = {
      {{"HIP_VISIBLE_DEVICES=0,1"}, 2},
      {{"HIP_VISIBLE_DEVICES="}, 0},
      {{"HIP_VISIBLE_DEVICES=-1"}, 0},
      {{"CUDA_VISIBLE_DEVICES=0,1,2"}, 3},
      {{"CUDA_VISIBLE_DEVICES=0,1,2", "HIP_VISIBLE_DEVICES=0"}, 1},
      {{"ROCR_VISIBLE_DEVICES=GPU-1,GPU-2"}, 2},
      {{"ROCR_VISIBLE_DEVICES=4,5,6,7", "HIP_VISIBLE_DEVICES=0,1"}, 2},
      {{"ROCR_VISIBLE_DEVICES=0,1", "HIP_VISIBLE_DEVICES=2,3"}, 0},
      {{"AMD_VISIBLE_DEVICES=0-3"}, 4},
  };
  for (const Narrowing& narrowing : cases) {
    EXPECT_EQ(count(amd_node(8, 8, narrowing.env)).count, narrowing.count) << narrowing.env[0];
  }
}

TEST(Devices, AmdGpusWithoutTheTopologyAreAQuestionUnlessTheyAreListed) {
  Snapshot hidden = node({"dri", "kfd"});
  add_directory(hidden, "/dev/dri", numbered("renderD", 128, 9));
  EXPECT_EQ(text_of(count(hidden)), "? 0 /dev/kfd without /sys/class/kfd/kfd/topology/nodes");
  hidden.env = base::Environ({"HIP_VISIBLE_DEVICES=0,1"});
  EXPECT_EQ(text_of(count(hidden)), "2 HIP_VISIBLE_DEVICES");
}

TEST(Devices, AFileForEachDeviceIsCounted) {
  Snapshot gaudi = node({"accel"});
  std::vector<std::string> files = numbered("accel", 0, 8);
  std::ranges::copy(numbered("accel_controlD", 0, 8), std::back_inserter(files));
  add_directory(gaudi, "/dev/accel", files);
  EXPECT_EQ(text_of(count(gaudi)), "8 /dev/accel/accel0 and 7 more");
  gaudi.env = base::Environ({"HABANA_VISIBLE_MODULES=4,5,6,7"});
  EXPECT_EQ(text_of(count(gaudi)), "4 HABANA_VISIBLE_MODULES");
  EXPECT_EQ(count(node(numbered("hl", 0, 8))).count, 8);
  EXPECT_EQ(count(node(numbered("accel", 0, 16))).count, 16);
}

TEST(Devices, ARenderNodeAloneIsADisplaysOrAQuestion) {
  Snapshot display = node({"dri"});
  add_directory(display, "/dev/dri", {"card0", "renderD128"});
  EXPECT_EQ(text_of(count(display)), "0 no device in /dev");
  add_file(display, "/sys/class/drm/renderD128/device/class", "0x030000\n");
  EXPECT_EQ(text_of(count(display)), "0 no device in /dev");
  add_file(display, "/sys/class/drm/renderD128/device/class", "0x038000\n");
  EXPECT_EQ(text_of(count(display)), "? 0 /dev/dri/renderD128");
  Snapshot several = node({"dri"});
  add_directory(several, "/dev/dri", numbered("renderD", 128, 4));
  EXPECT_EQ(text_of(count(several)), "? 4 /dev/dri/renderD128 and 3 more");
  EXPECT_TRUE(count(several).sure);
  Snapshot laptop = display;
  EXPECT_FALSE(count(laptop).sure) << "as QEMU's virtio-gpu";
  add_directory(laptop, "/dev/dri", numbered("renderD", 128, 2));
  add_file(laptop, "/sys/class/drm/renderD129/device/class", "0x030000\n");
  EXPECT_EQ(text_of(count(laptop)), "? 0 /dev/dri/renderD128");
  EXPECT_FALSE(count(laptop).sure);
  several.env = base::Environ({"ZE_AFFINITY_MASK=0,1"});
  EXPECT_EQ(text_of(count(several)), "2 ZE_AFFINITY_MASK");
  several.env = base::Environ({"ZE_AFFINITY_MASK=0.0,0.1"});
  EXPECT_FALSE(count(several).known);
}

TEST(Devices, WhatHoldsPartsIsAQuestion) {
  EXPECT_EQ(text_of(count(node({"neuron0"}))), "? 0 /dev/neuron0");
  EXPECT_EQ(count(node({"neuron0"}, {"NEURON_RT_VISIBLE_CORES=0-3"})).count, 4);
  for (const char* list : {"ALL", "0,1"}) {
    const std::string given = std::string("AWS_NEURON_VISIBLE_DEVICES=") + list;
    EXPECT_EQ(text_of(count(node(numbered("neuron", 0, 16), {given}))),
              "? 0 /dev/neuron0 and 15 more");
  }
  EXPECT_FALSE(count(node({"neuron0"}, {"NEURON_RT_VISIBLE_CORES=any"})).known);
}

TEST(Devices, NumberedDevicesOfAnyNameInAFilledDevAreAQuestion) {
  EXPECT_EQ(text_of(count(node({"null", "xpu0", "xpu1", "xpu10", "xpuctrl"}))),
            "? 0 /dev/xpu0 and 2 more");
  EXPECT_FALSE(count(node({"cxi0", "cxi1", "null"})).sure);
  EXPECT_TRUE(count(node({"xpu0", "xpu1"}, {"XPU_VISIBLE_DEVICES=0,1"})).sure);
  Snapshot inner = node({"biren", "null", "pts"});
  add_directory(inner, "/dev/biren", numbered("card_", 0, 4));
  add_directory(inner, "/dev/pts", numbered("", 0, 3));
  EXPECT_EQ(text_of(count(inner)), "? 0 /dev/biren/card_0 and 3 more");
  Snapshot control = node(gpus(0));
  add_directory(control, "/dev/nvidia-caps", {"nvidia-cap1", "nvidia-cap2"});
  EXPECT_EQ(text_of(count(control)), "0 no device in /dev");
  EXPECT_EQ(text_of(count(node({"infiniband", "null", "pts", "ttyS0", "ttyS1", "video0"}))),
            "0 no device in /dev");
}

TEST(Devices, InTheHostsOwnDevTheBusTells) {
  Snapshot host = node({"i2c-0", "i2c-1", "kmsg", "loop0", "loop1", "xpu0", "xpu1"});
  const std::string place = "/sys/bus/pci/devices";
  add_directory(host, place, {"0000:00:01.0", "0000:01:00.0", "0000:02:00.0"});
  add_file(host, place + "/0000:00:01.0/class", "0x020000\n");
  add_file(host, place + "/0000:01:00.0/class", "0x120000\n");
  add_file(host, place + "/0000:02:00.0/class", "0x010802\n");
  EXPECT_EQ(text_of(count(host)), "0 no device in /dev");
  add_file(host, place + "/0000:02:00.0/class", "0x120000\n");
  EXPECT_EQ(text_of(count(host)), "? 0 PCI device 0000:01:00.0 and 1 more");
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
  EXPECT_EQ(slots(node({"neuron0"}), 0), 1);
  Snapshot unseen;
  Request request;
  Inputs inputs(unseen, request);
  EXPECT_EQ(slots_of_node(inputs, 4), 4);
  EXPECT_THAT(inputs.wants(), IsEmpty());
}

}  // namespace
}  // namespace envgen
