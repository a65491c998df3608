// What the README claims, measured against something else in the same run: bench TRAINIT PAYLOAD
// (a) a rank table's conversion against Python's json, (b) the start of ranks against a plain loop
// of fork and exec. Static and small, because a child's peak memory counts from before its exec.

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

struct Run {
  double wall_ms = 0;
  double peak_mb = 0;
};

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) {
  fprintf(stderr, "bench: FAILED: %s\n", what.c_str());
  exit(1);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string quoted(const Words& argv) {
  std::string line;
  for (const std::string& word : argv) line += word + " ";
  return line;
}

[[noreturn]] void execute(const Words& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  perror(words[0]);
  _exit(127);
}

// Its stdout and stderr go to the file `said`.
pid_t start(const Words& argv, const std::string& said) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int fd = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execute(argv);
}

Run measure(const Words& argv, const std::string& said) {
  const std::int64_t begin = now_ns();
  const pid_t child = start(argv, said);
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) fail("wait4");
  const std::int64_t end = now_ns();
  if (status != 0) fail(quoted(argv) + "did not end well; it said: see " + said);
  return {static_cast<double>(end - begin) / 1e6, static_cast<double>(usage.ru_maxrss) / 1024};
}

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

struct Converted {
  int nodes = 0;
  Run ours;
  Run python;
};

// The medians of interleaved runs, after one of each that warms the page cache.
Converted convert(const std::string& trainit, const std::string& folder, int nodes, int rounds) {
  const std::string table = folder + "/table.json";
  const std::string our_out = folder + "/ours.json";
  const std::string python_out = folder + "/python.json";
  const std::string said = folder + "/said";
  write_table(table, nodes);
  const Words ours = {trainit,        "ranktable", "convert", table,
                      "--rank-order", "pod-index", "-o",      our_out};
  const std::string interpreter = python_path(said);
  const Words python = {interpreter, TRAINIT_SOURCE_DIR "/tests/bench/convert.py", table,
                        python_out};
  measure(ours, said);
  measure(python, said);
  measure({interpreter, TRAINIT_SOURCE_DIR "/tests/bench/same_json.py", our_out, python_out}, said);

  std::array<std::vector<double>, 4> samples;
  for (int round = 0; round < rounds; ++round) {
    const Run our_run = measure(ours, said);
    const Run python_run = measure(python, said);
    const std::array values{our_run.wall_ms, our_run.peak_mb, python_run.wall_ms,
                            python_run.peak_mb};
    for (std::size_t i = 0; i < values.size(); ++i) samples[i].push_back(values[i]);
  }
  return {
      nodes, {median(samples[0]), median(samples[1])}, {median(samples[2]), median(samples[3])}};
}

bool bench_convert(const std::string& trainit, const std::string& folder) {
  struct Size {
    int nodes, rounds;
  };
  constexpr std::array kSizes{Size{8, 51}, Size{128, 31}, Size{1'000, 11}, Size{10'000, 7}};
  puts("rank table: trainit ranktable convert against a Python script (json), 8 devices a node;");
  puts("medians of interleaved runs; \"a node more\" is the growth since the size before\n");
  puts("  nodes   trainit ms   python ms  ratio   trainit MB  python MB  ratio   a node more");
  bool faster = true;
  Converted before;
  for (const Size& size : kSizes) {
    const Converted now = convert(trainit, folder, size.nodes, size.rounds);
    printf("%7d  %11.2f %11.2f  %5.3f  %11.1f %10.1f  %5.3f", now.nodes, now.ours.wall_ms,
           now.python.wall_ms, now.ours.wall_ms / now.python.wall_ms, now.ours.peak_mb,
           now.python.peak_mb, now.ours.peak_mb / now.python.peak_mb);
    if (before.nodes > 0) {
      const double more = now.nodes - before.nodes;
      printf("   %.2f us, %.2f KB", (now.ours.wall_ms - before.ours.wall_ms) * 1000 / more,
             (now.ours.peak_mb - before.ours.peak_mb) * 1024 / more);
    }
    puts("");
    fflush(stdout);
    faster = faster && now.ours.wall_ms < now.python.wall_ms;
    before = now;
  }
  puts(faster ? "\nfaster than Python at every size; the outputs are the same JSON\n"
              : "\nNOT faster than Python at every size\n");
  return faster;
}

// What trainit's start is compared with: bench --fork-exec N PROGRAM...
int fork_exec(int ranks, const Words& argv) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() == 0) execute(argv);
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}

// Version 2.0, the only one with more than 16 devices on a machine.
void write_one_server(const std::string& path, int ranks) {
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) fail(path);
  fprintf(file, R"({"status":"completed","version":"2.0","rank_count":%d,"rank_list":[)", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    fprintf(file,
            R"(%s{"rank_id":%d,"local_id":%d,"device_id":%d,"level_list":[{"net_layer":0,)"
            R"("net_instance_id":"server","net_type":"TOPO_FILE_DESC","net_attr":"",)"
            R"("rank_addr_list":[{"addr_type":"IPV4","addr":"10.0.0.%d","ports":["1/0"],)"
            R"("plane_id":"0"}]}]})",
            rank == 0 ? "" : ",", rank, rank, rank, rank + 1);
  }
  fputs("]}\n", file);
  if (fclose(file) != 0) fail(path);
}

// From before the starter's fork to the main() of the last of its ranks, each of which writes its
// time into the FIFO.
double time_start(const Words& starter, int fifo, int ranks, const std::string& said) {
  const std::int64_t begin = now_ns();
  const pid_t child = start(starter, said);
  std::int64_t last = 0;
  // Their times fit into the FIFO, and all of them are there when the starter has ended.
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail(quoted(starter) + "did not end well; it said: see " + said);
  for (int rank = 0; rank < ranks; ++rank) {
    std::int64_t stamp = 0;
    if (read(fifo, &stamp, sizeof stamp) != sizeof stamp) fail("a rank left no time");
    last = std::max(last, stamp);
  }
  return static_cast<double>(last - begin) / 1e6;
}

struct Started {
  double ours_ms = 0;
  double loop_ms = 0;
};

Started start_ranks(const std::string& trainit, const std::string& payload,
                    const std::string& folder, int ranks) {
  constexpr int kRounds = 21;
  const std::string fifo_path = folder + "/stamps";
  const std::string said = folder + "/said";
  setenv("PAYLOAD_STAMP", fifo_path.c_str(), 1);
  setenv("TRAINIT_RUN_DIR", (folder + "/run").c_str(), 1);
  setenv("TRAINIT_LOG_DIR", (folder + "/logs").c_str(), 1);
  unlink(fifo_path.c_str());
  // Read and write: the read end never sees an end of file between two ranks.
  const int fifo = mkfifo(fifo_path.c_str(), 0600) == 0
                       ? open(fifo_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)
                       : -1;
  if (fifo < 0) fail(fifo_path);
  const std::string table = folder + "/server.json";
  write_one_server(table, ranks);
  const Words ours = {
      trainit, "--platform=bare", "--framework=ascend", "--rank-table=" + table, "--", payload,
      "stamp"};
  const Words loop = {"/proc/self/exe", "--fork-exec", std::to_string(ranks), payload, "stamp"};
  std::vector<double> our_ms;
  std::vector<double> loop_ms;
  for (int round = 0; round < kRounds; ++round) {
    our_ms.push_back(time_start(ours, fifo, ranks, said));
    loop_ms.push_back(time_start(loop, fifo, ranks, said));
  }
  close(fifo);
  return {median(our_ms), median(loop_ms)};
}

void bench_start(const std::string& trainit, const std::string& payload,
                 const std::string& folder) {
  constexpr std::array kRanks{8, 64};
  puts(
      "start: from the exec of the starter to the main() of the last rank; trainit also makes the");
  puts("rank table, the directories and the logs; medians of interleaved runs\n");
  puts("  ranks   trainit ms   fork+exec loop ms   ratio");
  std::vector<Started> started;
  for (const int ranks : kRanks) {
    started.push_back(start_ranks(trainit, payload, folder, ranks));
    printf("%7d  %11.2f  %18.2f  %6.2f\n", ranks, started.back().ours_ms, started.back().loop_ms,
           started.back().ours_ms / started.back().loop_ms);
    fflush(stdout);
  }
  const double more = kRanks[1] - kRanks[0];
  const double ours_us = (started[1].ours_ms - started[0].ours_ms) * 1000 / more;
  const double loop_us = (started[1].loop_ms - started[0].loop_ms) * 1000 / more;
  printf("\na rank more: trainit %.0f us, the loop %.0f us, ratio %.2f\n", ours_us, loop_us,
         ours_us / loop_us);
}

std::string absolute(const char* path) {
  std::array<char, PATH_MAX> resolved{};
  if (realpath(path, resolved.data()) == nullptr) fail(path);
  return resolved.data();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && strcmp(argv[1], "--fork-exec") == 0) {
    return fork_exec(atoi(argv[2]), Words(argv + 3, argv + argc));
  }
  if (argc != 3) {
    fputs("usage: bench TRAINIT PAYLOAD\n", stderr);
    return 2;
  }
  const std::string trainit = absolute(argv[1]);
  const std::string payload = absolute(argv[2]);
  std::string folder = "/tmp/trainit-bench.XXXXXX";
  // The ranks' directories go there, too.
  if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0) fail(folder);
  const bool faster = bench_convert(trainit, folder);
  bench_start(trainit, payload, folder);
  if (chdir("/") != 0) fail("/");
  measure({"rm", "-rf", folder}, "/dev/null");
  return faster ? 0 : 1;
}
