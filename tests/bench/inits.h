#pragma once
// Who is measured: trainit, trainit under the names that it answers to, the peers, and floors.

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/harness.h"

namespace bench {

struct Init {
  std::string name;
  Words words;          // what precedes the command
  std::string missing;  // why there is nothing to measure; empty when there is

  [[nodiscard]] Command command(const Words& program) const;
};

// A folder for links and files, the programs beside bench itself, and the inits as they are called
// where they are not PID 1 and where they are. trainit is the first of each.
struct Field {
  std::string folder;
  std::string self;  // bench, which is also what runs below the inits: Program in children.h
  std::string nop;
  std::string nap;
  std::string trainit;
  std::vector<Init> here;
  std::vector<Init> pid1;
  bool root = false;  // without it nothing is PID 1
};

Field gather_field(const std::string& trainit, const std::string& self, const std::string& folder);

// What no init goes below: fork, exec and wait as trainit is linked, and without a C library.
std::vector<Init> floors(const Field& field);

// What the other rows are divided by, where it is installed.
inline constexpr const char* kReference = "tini-static";

std::string ratio(double value, std::optional<double> base);

}  // namespace bench
