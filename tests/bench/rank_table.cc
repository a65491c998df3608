// What rank tables cost, beside Python's json and the script that one would write.

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <array>

#include "tests/bench/topics.h"

namespace bench {
namespace {

struct Size {
  int nodes, rounds;
};
constexpr std::array kSizes{Size{10, 51}, Size{100, 31}, Size{1'000, 11}, Size{10'000, 5},
                            Size{100'000, 3}};

// Template 2 of so many nodes with 8 devices each, the pods in an order that is not theirs.
void write_table(const std::string& path, int nodes) {
  constexpr int kDevices = 8;
  constexpr int kStride = 7919;  // a prime, and no divisor of any size here
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) fail(path);
  fprintf(file,
          "{\"status\":\"completed\",\"group_count\":\"1\",\"group_list\":[{\"group_name\":\"job\","
          "\"device_count\":\"%d\",\"instance_count\":\"%d\",\"instance_list\":[",
          nodes * kDevices, nodes);
  for (int i = 0; i < nodes; ++i) {
    const int pod = static_cast<int>(static_cast<std::int64_t>(i) * kStride % nodes);
    fprintf(file, "%s{\"pod_name\":\"job-%d\",\"server_id\":\"10.%d.%d.%d\",\"devices\":[",
            i == 0 ? "" : ",", pod, pod / 65536, pod / 256 % 256, pod % 256);
    for (int device = 0; device < kDevices; ++device) {
      fprintf(file, "%s{\"device_id\":\"%d\",\"device_ip\":\"%d.%d.%d.%d\"}",
              device == 0 ? "" : ",", device, 100 + device, pod / 65536, pod / 256 % 256,
              pod % 256);
    }
    fputs("]}", file);
  }
  fputs("]}]}\n", file);
  if (fclose(file) != 0) fail(path);
}

std::string first_line(const std::string& path) {
  std::array<char, PATH_MAX> line{};
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr || fgets(line.data(), line.size(), file) == nullptr) fail(path);
  fclose(file);
  line[strcspn(line.data(), "\n")] = '\0';
  return line.data();
}

// The interpreter itself: a version manager's "python3" is a shell script that takes longer than
// it.
std::string python_path(const std::string& said) {
  measure({"python3", "-c", "import sys; print(sys.executable)"}, said);
  return first_line(said);
}

struct Compared {
  int nodes = 0;
  Run ours;
  Run python;
};

// The medians of interleaved runs, after one of each that warms the page cache.
Compared compare(const Words& ours, const Words& python, const Size& size,
                 const std::string& said) {
  measure(ours, said);
  measure(python, said);
  std::array<std::vector<double>, 4> samples;
  for (int round = 0; round < size.rounds; ++round) {
    const Run our_run = measure(ours, said);
    const Run python_run = measure(python, said);
    const std::array values{our_run.wall_ms, our_run.peak_mb, python_run.wall_ms,
                            python_run.peak_mb};
    for (std::size_t i = 0; i < values.size(); ++i) samples[i].push_back(values[i]);
  }
  return {.nodes = size.nodes,
          .ours = {median(samples[0]), median(samples[1])},
          .python = {median(samples[2]), median(samples[3])}};
}

class Comparison {
 public:
  explicit Comparison(const char* heading) : heading_(heading) {}

  void add(const Compared& now) {
    std::string growth = "-";
    if (before_.nodes > 0) {
      const double more = now.nodes - before_.nodes;
      growth = text("%.2f us, %.2f KB", (now.ours.wall_ms - before_.ours.wall_ms) * 1000 / more,
                    (now.ours.peak_mb - before_.ours.peak_mb) * 1024 / more);
    }
    table_.add({text("%d", now.nodes), text("%.2f", now.ours.wall_ms),
                text("%.2f", now.python.wall_ms),
                text("%.3f", now.ours.wall_ms / now.python.wall_ms), text("%.1f", now.ours.peak_mb),
                text("%.1f", now.python.peak_mb),
                text("%.3f", now.ours.peak_mb / now.python.peak_mb), growth});
    before_ = now;
  }
  void print() {
    printf("%s\n\n", heading_);
    table_.print();
  }

 private:
  const char* heading_;
  Table table_{{"nodes", "trainit ms", "python ms", "ratio", "trainit MB", "python MB", "ratio",
                "a node more"}};
  Compared before_;
};

}  // namespace

void rank_table(const Field& field) {
  puts(
      "## Rank tables of 8 devices a node; medians of interleaved runs; \"a node more\" is the "
      "growth since the size before\n");
  Comparison check("trainit ranktable check against Python's json.load of the same file");
  Comparison plan("trainit plan for one node of it, against json.load");
  Comparison convert(
      "trainit ranktable convert against a Python script: json.load, sort, json.dump");
  const std::string said = field.folder + "/said";
  const std::string table = field.folder + "/table.json";
  const std::string our_out = field.folder + "/ours.json";
  const std::string python_out = field.folder + "/python.json";
  const std::string interpreter = python_path(said);
  const Words load = {interpreter, "-c", "import json, sys; json.load(open(sys.argv[1]))", table};
  const Words script = {interpreter, TRAINIT_SOURCE_DIR "/tests/bench/convert.py", table,
                        python_out};
  const Words ours = {field.trainit,  "ranktable", "convert", table,
                      "--rank-order", "pod-index", "-o",      our_out};
  for (const Size& size : kSizes) {
    write_table(table, size.nodes);
    check.add(compare({field.trainit, "ranktable", "check", table}, load, size, said));
    plan.add(compare({field.trainit, "plan", "--rank-table", table, "--node-rank", "3",
                      "--framework", "ascend", "--", "true"},
                     load, size, said));
    convert.add(compare(ours, script, size, said));
    measure({interpreter, TRAINIT_SOURCE_DIR "/tests/bench/same_json.py", our_out, python_out},
            said);
  }
  check.print();
  plan.print();
  convert.print();
}

}  // namespace bench
