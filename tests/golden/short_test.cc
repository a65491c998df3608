// The summary that `trainit plan` prints: short/NAME.txt for a dozen situations, and its limits.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "envgen/plan/snapshot.h"
#include "envgen/show/paragraph.h"
#include "tests/golden/difference.h"
#include "tests/golden/plans.h"
#include "tests/sim/job_parts.h"
#include "tests/sim/platform_jobs.h"

namespace {

using sim::Words;

constexpr std::size_t kAnyLines = 40;

struct Situation {
  const char* name;
  std::function<envgen::Snapshot()> snapshot;
  std::size_t most_lines = kAnyLines;
  const char* options = "";  // over the snapshot's own
};
void PrintTo(const Situation& situation, std::ostream* out) { *out << situation.name; }

envgen::Snapshot resolved(sim::Container container) {
  sim::resolve(container);
  return std::move(container.snapshot);
}

// A container without a platform.
std::function<envgen::Snapshot()> bare(const Words& options, const char* host = "n0",
                                       const Words& variables = {}, int gpus = 0) {
  return [=] {
    Words argv = options;
    argv.insert(argv.end(), {"--", "python3", "train.py"});
    sim::Container container = sim::plain(argv, variables, host);
    container.snapshot.facts.run_dir = "/run/trainit";
    container.snapshot.facts.program = "/usr/local/bin/trainit";
    if (gpus > 0) sim::add_gpus(container, gpus);
    return resolved(std::move(container));
  };
}

// A node of a simulated job; a negative one counts from the last.
std::function<envgen::Snapshot()> of_job(const char* name, int node, int nodes = 2, int slots = 8) {
  return [=] {
    const std::vector<sim::Job> jobs = sim::simulated_jobs(nodes, slots);
    const sim::Job& job = sim::job_named(jobs, name);
    return resolved(job.container(node < 0 ? job.nodes + node : node));
  };
}

std::function<envgen::Snapshot()> saved(const char* name) {
  return [=] {
    const std::string path = golden::directory() + name + ".snapshot.json";
    auto snapshot = envgen::snapshot_from_json(golden::read_file(path), path);
    EXPECT_TRUE(snapshot);
    return *snapshot;
  };
}

// Hooks with conditions: the node has several nodes, no device, and TRAINIT_WANTED.
envgen::Snapshot with_conditions() {
  envgen::Snapshot snapshot = saved("hooks")();
  const auto state = [&snapshot](const std::string& path, const std::string& condition) {
    snapshot.paths["/" + path].content = "#!/bin/sh\n# trainit-when: " + condition + "\ntrue\n";
  };
  snapshot.env.set("TRAINIT_WANTED", "1");
  snapshot.paths["/dev"].listed = true;
  state("etc/trainit/hooks/pre-start.d/10-links.sh", "devices");
  state("mnt/hooks/pre-start.d/30-limits.sh", "devices nodes");
  state("mnt/hooks/pre-stop.d/10-flush.sh", "TRAINIT_WANTED");
  state("mnt/hooks/on-failure.d/10-stacks.sh", "devices");
  return snapshot;
}

const std::vector<Situation>& situations() {
  constexpr std::size_t kTorch = 25;
  constexpr std::size_t kMpi = 20;
  static const Words two = {"--fan-out", "--slots", "8", "--nodes", "2", "--master-addr", "n0"};
  const auto torch = [](const char* node) {
    Words options = two;
    options.insert(options.end(), {"--node-rank", node});
    return options;
  };
  static const Words mpi = {"--hosts", "a:8,b:8", "--framework", "mpi"};
  static const Words deepspeed = {"--hosts", "a:8,b:8", "--framework", "deepspeed"};
  static const std::vector<Situation> all = {
      {"command", bare({}), 6},
      {"pytorch-first", bare(torch("0")), kTorch},
      {"pytorch-last", bare(torch("1"), "n1"), kTorch},
      {"pytorch-alone", bare({"--fan-out", "--slots", "8"}), kTorch},
      {"pytorch-tee", bare({"--fan-out", "--slots", "2", "--output", "tee"}), kTorch},
      {"mpi-launcher", bare(mpi, "a"), kMpi},
      {"mpi-worker", bare(mpi, "b"), kMpi},
      {"deepspeed-launcher", bare(deepspeed, "a"), kTorch},
      {"deepspeed-worker", bare(deepspeed, "b"), kTorch},
      {"tensorflow-ps", of_job("vk-tensorflow-ps", 0), kTorch},
      {"tensorflow-worker", of_job("vk-tensorflow-ps", -1), kTorch},
      {"jax", bare({"--framework", "jax", "--slots", "2"}), kTorch},
      {"ascend", saved("bare_2x8"), kTorch},
      {"modelarts", saved("modelarts_2x8")},
      {"mindspore-dynamic", of_job("bare-dynamic", 0), kTorch},
      {"waiting", saved("modelarts_initializing"), 10},
      {"hooks", with_conditions},
      {"data", saved("local"), 12,
       "--data /mnt/imagenet --data /mnt/coco=/scratch/coco --data-root /cache --data-timeout 1h"},
      {"policy", saved("local"), 20,
       "--signal TERM=INT,HUP=none --grace 20s --max-duration 12h --max-restarts 3 "
       "--no-restart-on 1-2,126 --stall-timeout 30m --hold 2h --exit-codes 143=0"},
  };
  return all;
}

// Returns what `trainit plan` prints of a snapshot.
std::string summary_of(const envgen::Snapshot& snapshot, const std::string& options) {
  const std::string path =
      testing::TempDir() + "trainit-" + std::to_string(::getpid()) + "-short.json";
  std::ofstream(path) << envgen::to_json(snapshot, true);
  std::string text = golden::trainit("plan --snapshot " + path + " " + options);
  std::filesystem::remove(path);
  return text;
}

class ShortPlan : public testing::TestWithParam<Situation> {};

TEST_P(ShortPlan, IsWhatItWasAndFitsTheScreen) {
  const Situation& situation = GetParam();
  const envgen::Snapshot snapshot = situation.snapshot();
  const std::string text = summary_of(snapshot, situation.options);
  golden::expect_file(std::string("short/") + situation.name + ".txt", text);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  EXPECT_LE(lines, situation.most_lines) << text;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = base::take_line(rest);
    EXPECT_LE(envgen::columns_of(line), envgen::kColumns) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, ShortPlan, testing::ValuesIn(situations()), [](const auto& one) {
  std::string name = one.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

// The commands of all jobs on all platforms are short, so no line of their plans may be long.
TEST(ShortPlan, OfAnyJobFits80Columns) {
  for (const sim::Job& job : sim::simulated_jobs(3, 8)) {
    for (const int node : {0, job.nodes - 1}) {
      const std::string text = summary_of(resolved(job.container(node)), "");
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::string_view line = base::take_line(rest);
        EXPECT_LE(envgen::columns_of(line), envgen::kColumns) << job.name << ": " << line;
      }
    }
  }
}

TEST(ShortPlan, HasNoOtherFiles) {
  std::set<std::string> known;
  for (const Situation& situation : situations()) {
    known.insert(std::string(situation.name) + ".txt");
  }
  for (const auto& entry : std::filesystem::directory_iterator(golden::directory() + "short")) {
    EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path();
  }
}

}  // namespace
