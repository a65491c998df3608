// The bindings of two clouds' machines from their own topology files, which stay where they are
// (TRAINIT_SAMPLES); the plans lie beside this file.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "init/cli/options.h"
#include "tests/golden/plans.h"

namespace {

constexpr const char* kTopologyFile = "/opt/topo.xml";

struct Cloud {
  const char* name;
  const char* topology;
  int first_sibling;  // the CPU that shares a core with CPU 0; 0 = none does
  bool driver;        // its GPUs can be listed in /proc, else the topology file alone has them
};
void PrintTo(const Cloud& cloud, std::ostream* out) { *out << cloud.name; }

envgen::PathState file_of(std::string content) {
  envgen::PathState state;
  state.kind = envgen::PathState::Kind::kFile;
  state.size_bytes = content.size();
  state.content = std::move(content);
  return state;
}

envgen::PathState directory_of(std::vector<std::string> entries) {
  envgen::PathState state;
  state.kind = envgen::PathState::Kind::kDirectory;
  state.entries = std::move(entries);
  state.writable = true;
  state.listed = true;
  return state;
}

// Both have 96 CPUs and 8 GPUs.
std::map<std::string, envgen::PathState> paths_of(const Cloud& cloud, const std::string& topology) {
  constexpr int kCpus = 96;
  constexpr int kGpus = 8;
  std::map<std::string, envgen::PathState> paths;
  paths[kTopologyFile] = file_of(topology);
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    std::string siblings = std::to_string(cpu);
    if (cloud.first_sibling > 0) {
      const int core = cpu % cloud.first_sibling;
      siblings = std::to_string(core) + "," + std::to_string(core + cloud.first_sibling);
    }
    paths["/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list"] =
        file_of(siblings + "\n");
  }
  std::vector<std::string> devices = {"null", "nvidiactl"};
  for (int gpu = 0; gpu < kGpus; ++gpu) devices.push_back("nvidia" + std::to_string(gpu));
  paths["/dev"] = directory_of(devices);
  if (!cloud.driver) return paths;
  std::vector<std::string> ids;
  for (const char* domain : {"0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e"}) {
    ids.push_back(std::string(domain) + ":00:00.0");
    paths["/proc/driver/nvidia/gpus/" + ids.back() + "/information"] =
        file_of("Device Minor: \t " + std::to_string(ids.size() - 1) + "\n");
  }
  paths["/proc/driver/nvidia/gpus"] = directory_of(ids);
  return paths;
}

// What that machine's container sees, with all that resolve() looks at; the rest is not there.
envgen::Snapshot snapshot_of(const Cloud& cloud, const std::string& bind,
                             const std::string& topology) {
  envgen::Snapshot snapshot;
  snapshot.argv = {"--fan-out", "--slots", "8", "--bind", bind, "--", "python", "train.py"};
  snapshot.env =
      base::Environ({"PATH=/usr/bin:/bin", std::string("NCCL_TOPO_FILE=") + kTopologyFile});
  snapshot.facts.cwd = "/srv/job";
  snapshot.facts.host_name = "gpu-0";
  snapshot.facts.run_dir = "/run/trainit";
  snapshot.facts.cpus = 96;
  snapshot.facts.cpu_list = "0-95";
  const auto options = cli::parse_options(snapshot.argv, snapshot.env);
  EXPECT_TRUE(options) << to_line(options.error());
  const auto paths = paths_of(cloud, topology);
  for (int round = 0; round < 16; ++round) {
    const envgen::Answer answer = envgen::resolve(snapshot, options->request);
    if (answer.wants.empty()) return snapshot;
    for (const envgen::Want& want : answer.wants) {
      const auto found = paths.find(want.path);
      snapshot.paths[want.path] = found == paths.end() ? envgen::PathState() : found->second;
    }
  }
  ADD_FAILURE() << "no end of wants";
  return snapshot;
}

class BindingPlan : public testing::TestWithParam<Cloud> {};

TEST_P(BindingPlan, IsWhatItWas) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  const Cloud& cloud = GetParam();
  const std::string topology =
      golden::read_file(std::string(samples) + "/nccl-topo/" + cloud.topology);
  ASSERT_FALSE(topology.empty());
  std::vector<golden::Section> sections;
  for (const char* bind : {"numa", "core"}) {
    const std::string path = testing::TempDir() + "trainit-" + std::to_string(::getpid()) + "-" +
                             bind + "_" + cloud.name + ".json";
    std::ofstream(path) << envgen::to_json(snapshot_of(cloud, bind, topology), true);
    sections.push_back({std::string("--bind ") + bind, path, ""});
  }
  golden::expect_plans(std::string("bind_") + cloud.name, "", sections);
  for (const golden::Section& section : sections) std::filesystem::remove(section.snapshot);
}

INSTANTIATE_TEST_SUITE_P(Clouds, BindingPlan,
                         testing::Values(Cloud{"aws_p4d", "aws-p4d-24xl-topo.xml", 48, false},
                                         Cloud{"azure_ndv4", "azure-ndv4-topo.xml", 0, true}),
                         [](const auto& cloud) { return std::string(cloud.param.name); });

}  // namespace
