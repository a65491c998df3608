#pragma once
// The ways of copying that a bench compares: each is a command of the shell, timed by itself.

#include <string>
#include <vector>

#include "tests/bench/copy/fresh_disk.h"
#include "tests/bench/topics.h"

namespace bench {

struct CopyWay {
  std::string name;
  std::string command;  // of the shell, with $FROM and $TO
  bool ours = false;
  std::vector<double> ms = {};
  std::vector<double> cpu_ms = {};
  std::vector<double> ratios = {};  // to trainit's time of the same round
};

struct CopyRoute {
  std::string from;  // directories
  std::string to;
  bool cold = false;
  const FreshDisk* fresh = nullptr;  // whose mount point is `to`
};

bool is_quick();  // TRAINIT_BENCH_QUICK
// Returns whether TRAINIT_BENCH_SETS ("small large") names the set; without it, true.
bool is_wanted(const std::string& set);
bool is_installed(const char* program);

// Removes the last copy, and returns the milliseconds that the way takes.
double time_of(const Field& field, const CopyWay& way, const CopyRoute& route,
               const std::string& source);

// Prints the table of the ways that were measured.
void show(const std::vector<CopyWay>& ways, const std::string& title);

}  // namespace bench
