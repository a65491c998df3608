#pragma once
// What the topics share: clock, statistics, starting programs, tables. A measurement that cannot be
// made ends the whole run: half a table would be read as a result.

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

using Words = std::vector<std::string>;

std::int64_t now_ns();
[[noreturn]] void fail(const std::string& what);

// 0.5 is the median. Takes a copy, because it sorts.
double quantile(std::vector<double> values, double part);
double median(std::vector<double> values);

// "1.23 (1.10-1.40)": the ratio of the medians, and that in each tenth of the run, lowest and
// highest: what the machine's noise does to it. The two were measured in the same rounds.
std::string with_spread(const std::vector<double>& values, const std::vector<double>& base);

// A random order of 0..count-1, another one with each call, the same ones in each run.
std::vector<std::size_t> shuffled(std::size_t count);

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

std::string read_text(const std::string& path);  // empty where it cannot be read

// A command as exec wants it, built before the clock runs.
class Command {
 public:
  // `variables`, "NAME=VALUE", come beside what all have.
  explicit Command(Words words, Words variables = {});
  Command(Command&&) = default;
  Command& operator=(Command&&) = default;
  [[nodiscard]] char* const* argv() const { return argv_.data(); }
  [[nodiscard]] const char* path() const { return argv_[0]; }
  // With a small environment of its own: no TRAINIT_ variable, no platform's.
  [[noreturn]] void execute() const;

 private:
  Words words_;
  Words variables_;
  std::vector<char*> argv_;
  std::vector<char*> environment_;
};

enum class Place : unsigned char {
  kHere,
  kPid1,  // of a new pid namespace, with its own /proc, /run and session, as in a container
};

struct How {
  Place place = Place::kHere;
  int out = -1;  // stdout; /dev/null when there is none
  int in = STDIN_FILENO;
  bool stop_at_exec = false;  // stays before its first instruction, until let_run()
};

// Its stderr is /dev/null.
pid_t start(const Command& command, How how);
void wait_for_stop(pid_t child);
void let_run(pid_t child);
// The same with vfork and, unless there is another stdout, ours of everything: for timing.
pid_t start_fast(const Command& command, int out = -1);
// The exit code, 128+n for a signal.
int finish(pid_t child);
void kill_and_finish(pid_t child);

// Runs until a program of ours that ended badly says why: stdout and stderr go to the file `said`.
struct Run {
  double wall_ms = 0;
  double peak_mb = 0;
  double cpu_ms = 0;  // of it and of all that it has waited for
};
pid_t start_saying(const Words& argv, const std::string& said);
Run measure(const Words& argv, const std::string& said);
[[noreturn]] void execute(const Words& argv);

// A pipe whose read end is ours.
struct Pipe {
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write();
  // False when nothing came within the time, or nobody is left to write.
  [[nodiscard]] bool read_stamp(std::int64_t* stamp, int timeout_ms) const;
  int read_fd = -1;
  int write_fd = -1;
};

// Markdown, with columns as wide as they need to be.
class Table {
 public:
  explicit Table(Words header) : rows_{std::move(header)} {}
  void add(Words row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<Words> rows_;
};

}  // namespace bench
