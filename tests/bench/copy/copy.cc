// What `trainit copy` takes, against what people use today, in one run: pairs, whose order is
// another one in each round.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tests/bench/copy/copy_trees.h"
#include "tests/bench/copy/fresh_disk.h"
#include "tests/bench/copy/latency.h"
#include "tests/bench/copy/slow_disk.h"
#include "tests/bench/copy/ways.h"
#include "tests/bench/proc_files.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

std::vector<CopyWay> ways_of(const Field& field, bool large) {
  const std::string ours = field.trainit + " copy --headroom 0% ";
  std::vector<CopyWay> ways = {
      {"trainit copy", ours + "$FROM $TO", true},
      {"trainit copy --verify", ours + "--verify $FROM $TO", true},
      {"cp -a", "cp -a $FROM $TO"},
      {"tar | tar", "mkdir $TO && tar -C $FROM -cf - . | tar -C $TO -xf -"},
  };
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (!large) {
    // 8 calls for each file, which nothing can do without that copies it.
    ways.push_back({text("floor: 8 calls a file, %ld processes", cpus),
                    field.self + text(" --program copy-floor $FROM $TO %ld", cpus)});
  }
  if (large) {
    ways.push_back({"raw read/write loop", field.self + " --program copy-raw $FROM $TO"});
  }
  if (is_installed("rsync")) ways.push_back({"rsync -a", "rsync -a $FROM/ $TO"});
  if (is_installed("rclone")) {
    ways.push_back({"rclone copy --transfers 8",
                    "RCLONE_CONFIG=/dev/null rclone -q copy --transfers 8 $FROM $TO"});
  }
  if (is_installed("fpsync")) {
    ways.push_back({text("fpsync -n %ld", cpus),
                    text("fpsync -t %s/fpsync -n %ld $FROM/ $TO/", field.folder.c_str(), cpus)});
  }
  return ways;
}

void measure_route(const Field& field, const TreeShape& shape, const CopyRoute& route,
                   const std::string& source) {
  constexpr double kSlow = 4;  // who takes so many times as long is measured less often
  const int rounds = is_quick() ? 3 : 5;
  std::vector<CopyWay> ways = ways_of(field, shape.bytes >= (1 << 30) || shape.name == "large");
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> now(ways.size(), 0);
    for (const std::size_t index : shuffled(ways.size())) {
      CopyWay& way = ways[index];
      const bool slow = is_quick() && round > 0 && !way.ours && median(way.ratios) > kSlow;
      if (!slow) now[index] = time_of(field, way, route, source);
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (now[i] == 0) continue;
      ways[i].ms.push_back(now[i]);
      ways[i].ratios.push_back(now[i] / now[0]);
    }
  }
  show(ways, "### " + shape.name + ", " + file_system_of(source) + " to " +
                 (route.fresh == nullptr ? "" : "a new ") + file_system_of(route.to) +
                 (route.cold ? ", cold caches" : ""));
  remove_tree(route.to + "/copy");
  remove_tree(route.to + "/.trainit-copy.copy");
}

void measure_shape(const Field& field, const TreeShape& shape, const std::string& disk,
                   const std::string& memory) {
  if (!is_wanted(shape.name)) return;
  constexpr std::int64_t kSpare = 1LL << 30;
  const std::int64_t needed = 3 * bytes_of(shape) + 2 * kSpare;
  for (const std::string& place : {disk, memory}) {
    if (free_bytes(place) >= needed) continue;
    printf("\n%s: not measured, %s has no %lld MB free\n", shape.name.c_str(), place.c_str(),
           static_cast<long long>(needed / 1'000'000));
    return;
  }
  const std::string on_disk = disk + "/source";
  make_tree(on_disk, shape);
  {
    const FreshDisk fresh(memory, bytes_of(shape) * 3 / 2 + kSpare, 2LL * shape.files + 10'000);
    CopyRoute route{.from = disk, .to = disk};
    if (fresh.remake()) {
      route.to = fresh.mount_point();
      route.fresh = &fresh;
    } else {
      printf("\nno loop devices: ext4 is the one in use, with its noise\n");
    }
    measure_route(field, shape, route, on_disk);
    route.cold = drop_caches();
    if (route.cold) {
      measure_route(field, shape, route, on_disk);
    } else {
      printf("\ncold caches: not measured, they cannot be dropped here\n");
    }
  }
  measure_route(field, shape, {.from = disk, .to = memory}, on_disk);
  remove_tree(on_disk);
  const std::string in_memory = memory + "/source";
  make_tree(in_memory, shape);
  measure_route(field, shape, {memory, memory}, in_memory);
  remove_tree(in_memory);
}

// What is compared with what, by their places in the list of ways.
struct Beside {
  std::size_t ours;
  std::size_t other;
};

// "1.23 (1.10 to 1.40)": of the same rounds, with the least and the most.
std::string paired(const std::vector<double>& ours, const std::vector<double>& other) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < ours.size(); ++round) {
    ratios.push_back(ours[round] / other[round]);
  }
  return text("%.2f (%.2f to %.2f)", median(ratios), quantile(ratios, 0), quantile(ratios, 1));
}

void show_beside(const std::vector<CopyWay>& ways, const std::vector<Beside>& pairs) {
  printf("\n");
  Table table({"way", "beside", "time", "CPU time"});
  for (const Beside& pair : pairs) {
    const CopyWay& ours = ways[pair.ours];
    const CopyWay& other = ways[pair.other];
    table.add(
        {ours.name, other.name, paired(ours.ms, other.ms), paired(ours.cpu_ms, other.cpu_ms)});
  }
  table.print();
}

// How long it takes to find that neither a source nor its copy has changed. What proves as much
// asks each file for its size and times, in both trees; who only reads the names proves nothing.
// With a version the source is not looked at: the copy is, because jobs can write to it.
void measure_proof(const Field& field, const std::string& memory) {
  if (!is_wanted("proof")) return;
  const TreeShape shape{.name = "proof", .files = is_quick() ? 10'000 : 100'000, .bytes = 1 << 10};
  const std::string from = memory + "/source";
  const std::string to = memory + "/copy";
  make_tree(from, shape);
  const std::string ours = field.trainit + " copy --headroom 0% " + from + " " + to;
  const auto cached = [&](const std::string& options) {
    return "TRAINIT_RUN_DIR=" + field.folder + "/run " + field.trainit + " --data-root " + memory +
           "/cache --data-headroom 0% --data " + from + options + " -- /bin/true";
  };
  const auto looks = [](const std::string& tree, const std::string& look) {
    return "find " + tree + " -printf '" + look + "'";
  };
  const std::string stated = "%s %T@ %C@\\n";
  const auto floor = [&field](const std::string& tree) {
    return field.self + " --program look-floor " + tree +
           text(" %ld", sysconf(_SC_NPROCESSORS_ONLN));
  };
  enum : std::size_t { kCopy, kFound, kVersion, kNames, kLeast, kBoth, kOnly, kFloor, kOnlyFloor };
  std::vector<CopyWay> ways = {
      {"trainit copy, unchanged", ours, true},
      {"trainit --data, found", cached(""), true},
      {"trainit --data --data-version, found", cached(" --data-version 1"), true},
      {"find: the names in both trees", looks(from, "") + " && " + looks(to, "")},
      {"find: names in the source, size and time in the copy",
       looks(from, "") + " && " + looks(to, stated)},
      {"find: size and time in both trees", looks(from, stated) + " && " + looks(to, stated)},
      {"find: size and time in the copy", looks(to, stated)},
      {"floor: one fstatat a file in both trees", floor(from) + " && " + floor(to)},
      {"floor: one fstatat a file in the copy", floor(to)}};
  if (mkdir((memory + "/cache").c_str(), 0755) != 0) fail(memory);
  for (const CopyWay& way : ways) {
    if (way.ours) measure({"/bin/sh", "-c", way.command}, field.folder + "/said");
  }
  for (int round = 0; round < (is_quick() ? 3 : 5); ++round) {
    for (const std::size_t index : shuffled(ways.size())) {
      const Words command = {"/bin/sh", "-c", ways[index].command};
      const Run run = measure(command, field.folder + "/said");
      ways[index].ms.push_back(run.wall_ms);
      ways[index].cpu_ms.push_back(run.cpu_ms);
    }
    for (CopyWay& way : ways) way.ratios.push_back(way.ms.back() / ways[0].ms.back());
  }
  show(ways, text("### Nothing has changed: %d files, tmpfs", shape.files));
  show_beside(ways, {{kCopy, kBoth},
                     {kFound, kBoth},
                     {kFound, kLeast},
                     {kFound, kNames},
                     {kFound, kFloor},
                     {kVersion, kOnly},
                     {kVersion, kOnlyFloor}});
  for (const char* name : {"/source", "/copy", "/.trainit-copy.copy", "/cache"}) {
    remove_tree(memory + name);
  }
}

// One large file to a file system that takes long for each write, and many writes at a time: as one
// on the network. The floor is that of so many processes that each write a part of it.
void measure_streams(const Field& field, const std::string& memory) {
  if (!is_wanted("streams")) return;
  constexpr int kWriteUs = 20'000;
  constexpr int kBlocks = 8192;  // of 256 KiB: long beside the second in which workers come
  constexpr int kStreams = 8;
  const SlowDisk slow(field.self, memory + "/slow", {.write_us = kWriteUs});
  if (!slow.is_there()) {
    printf("\nstreams: not measured, FUSE is not to be had here\n");
    return;
  }
  const std::string from = memory + "/source";
  const TreeShape shape{.name = "streams", .files = 1, .bytes = kBlocks * (256LL << 10)};
  make_tree(from, shape);
  const std::string file = "/part-00000/sample-0000000";
  const std::string begin = "mkdir -p $TO/part-00000 && truncate -s " +
                            std::to_string(shape.bytes) + " $TO" + file + " && ";
  const auto streams = [&](int count) {
    return begin + text(
                       "for i in $(seq 0 %d); do dd if=$FROM%s of=$TO%s bs=256k count=%d "
                       "skip=$((i*%d)) seek=$((i*%d)) conv=notrunc status=none & done; wait",
                       count - 1, file.c_str(), file.c_str(), kBlocks / count, kBlocks / count,
                       kBlocks / count);
  };
  std::vector<CopyWay> ways = {
      {"trainit copy", field.trainit + " copy --headroom 0% $FROM $TO", true},
      {"floor: 8 dd, a part each", streams(kStreams)}};
  const int rounds = is_quick() ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    const CopyRoute route{.from = memory, .to = slow.mount_point()};
    for (const std::size_t index : shuffled(ways.size())) {
      ways[index].ms.push_back(time_of(field, ways[index], route, from));
    }
    for (CopyWay& way : ways) way.ratios.push_back(way.ms.back() / ways[0].ms.back());
  }
  show(ways, text("### A file of %lld MB to a file system that takes %d ms for each write",
                  static_cast<long long>(shape.bytes / 1'000'000), kWriteUs / 1000));
  remove_tree(from);
}

std::int64_t pss_kb(pid_t pid) { return field_of(proc_path(pid, "smaps_rollup"), "Pss"); }

// The most that all processes of a copy had together.
std::int64_t peak_kb(const Field& field, const std::string& from, const std::string& to) {
  const Command command({field.trainit, "copy", "--headroom", "0%", from, to});
  const pid_t copy = start(command, {.place = Place::kHere});
  std::int64_t peak = 0;
  while (waitpid(copy, nullptr, WNOHANG) == 0) {
    std::int64_t sum = pss_kb(copy);
    for (const pid_t child : children_of(copy)) sum += pss_kb(child);
    peak = std::max(peak, sum);
    const timespec nap{0, 5'000'000};
    nanosleep(&nap, nullptr);
  }
  return peak;
}

void measure_memory(const Field& field, const std::string& memory) {
  if (!is_wanted("memory")) return;
  printf("\n### Memory of all processes together (PSS, peak), empty files, tmpfs to tmpfs\n\n");
  Table table({"entries", "KiB"});
  for (const int files : {10'000, 100'000, 1'000'000}) {
    if (is_quick() && files > 100'000) break;
    const TreeShape shape{.name = "memory", .files = files, .bytes = -1, .in_directory = 1000};
    make_tree(memory + "/source", shape);
    const std::int64_t peak = peak_kb(field, memory + "/source", memory + "/copy");
    struct stat status{};
    if (stat((memory + "/copy").c_str(), &status) != 0) fail("trainit copy");
    table.add({text("%d", files), text("%lld", static_cast<long long>(peak))});
    for (const char* name : {"/source", "/copy", "/.trainit-copy.copy"}) {
      remove_tree(memory + name);
    }
  }
  table.print();
}

}  // namespace

void copy(const Field& field) {
  printf("## Copies of trees: medians, the ratio to trainit copy is that of the same round\n");
  const std::string disk = field.folder + "/disk";
  const std::string memory = field.folder + "/memory";
  if (mkdir(disk.c_str(), 0755) != 0 || mkdir(memory.c_str(), 0755) != 0) fail(disk);
  if (mount("tmpfs", memory.c_str(), "tmpfs", 0, "size=90%") != 0) {
    printf("\nnot measured: a tmpfs takes root\n");
    return;
  }
  const int part = is_quick() ? 10 : 1;
  const std::vector<TreeShape> shapes = {
      {.name = "small", .files = 50'000 / part, .bytes = 8 << 10},
      {.name = "medium", .files = 20'000 / part, .bytes = 100 << 10},
      {.name = "large", .files = 4, .bytes = (1LL << 30) / part},
      {.name = "mixed", .files = 60'000 / part},
  };
  for (const TreeShape& shape : shapes) measure_shape(field, shape, disk, memory);
  measure_proof(field, memory);
  measure_streams(field, memory);
  measure_latency(field, memory);
  measure_memory(field, memory);
  umount(memory.c_str());
}

}  // namespace bench
