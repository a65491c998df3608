#pragma once
// The input of the resolver, as a value: everything that the resolver may look at. A saved snapshot
// serves as a bug report and as a test. init/ fills it. envgen/ never reads a file, a clock or the
// process environment.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/fields.h"
#include "base/result.h"

namespace envgen {

// The state of a path when trainit looked at it.
struct PathState {
  enum class Kind : unsigned char { kAbsent, kFile, kDirectory, kError };
  Kind kind = Kind::kAbsent;
  std::string content;               // of a kFile: its bytes; empty if only its existence matters
  std::vector<std::string> entries;  // of a kDirectory: its names, sorted
  bool writable = false;             // a kFile or kDirectory that this process can write
  int error = 0;                     // of a kError: errno (EFBIG: larger than kMaxInputBytes)
  std::uint64_t size_bytes = 0;      // size of a kFile, or of a kError with EFBIG
  bool listed = false;       // of a kDirectory: `entries` are complete; false = they were not read
  bool executable = false;   // a kFile that this process can execute
  bool null_device = false;  // a kError with EINVAL that is /dev/null; a symlink to it disables a
                             // file

  bool operator==(const PathState&) const = default;
};
inline void fields(base::FieldVisitor& v, PathState& state) {
  static constexpr std::array<std::string_view, 4> kKinds = {"absent", "file", "directory",
                                                             "error"};
  v("kind", state.kind, kKinds);
  v("content", state.content, {.omit = true, .base64 = true});
  const bool listed = state.listed || !state.entries.empty();
  const base::Rule entries{.omit = true, .base64 = true};
  if (v.when(listed, "entries", state.entries, entries) && !listed) state.listed = true;
  v("writable", state.writable);
  v("error", state.error);
  v("size", state.size_bytes);
  v("executable", state.executable, {.omit = true});
  v("null_device", state.null_device, {.omit = true});
}

// Maximum size of an input file. A rank table of 10,000 nodes with 8 devices each has 20 MB.
inline constexpr std::uint64_t kMaxInputBytes = 128ULL << 20;

struct Facts {
  std::string cwd;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string host_name;
  std::vector<std::string> addresses;  // addresses of this container's interfaces as text, without
                                       // loopback
  std::uint32_t cpus = 0;  // number of CPUs that this process can use: those of cpu_list, limited
                           // by the CPU quota
  std::string cpu_list;    // sched_getaffinity: "0-7,16-23"; "" in older snapshots
  std::string run_dir;     // RUN_DIR; "" if none is writable
  std::string program;     // absolute path of trainit's own file; "" if not known

  bool operator==(const Facts&) const = default;
};
inline void fields(base::FieldVisitor& v, Facts& facts) {
  v("cwd", facts.cwd);
  v("uid", facts.uid);
  v("gid", facts.gid);
  v("host_name", facts.host_name);
  v("addresses", facts.addresses);
  v("cpus", facts.cpus);
  v("cpu_list", facts.cpu_list, {.omit = true});
  v("run_dir", facts.run_dir);
  v("program", facts.program, {.may_miss = true});
}

// A path that stands for the output of this command: its "content" is what the command prints.
// kError with ETIMEDOUT means that the command was killed after its time-out, kAbsent that it
// cannot be run.
inline constexpr const char* kNpuTopologyCommand = "npu-smi info -t topo";

// A path that the resolver needs before its answer is final.
struct Want {
  std::string path;
  bool content = false;  // its bytes (of a file) or names (of a directory) are needed too, not only
                         // its type

  auto operator<=>(const Want&) const = default;
};

struct Snapshot {
  std::vector<std::string> argv;  // arguments after the program's name and its subcommand
  base::Environ env;
  Facts facts;
  std::map<std::string, PathState> paths;

  bool operator==(const Snapshot&) const = default;
};

// Returns the JSON object {argv, environ, facts, paths}. Bytes that are not UTF-8 become {"base64":
// "..."}. With `masked`, text that looks like a credential becomes "***".
std::string to_json(const Snapshot& snapshot, bool masked);
base::Result<Snapshot> snapshot_from_json(std::string_view text, std::string_view where);

}  // namespace envgen
