#pragma once
// The programs that are compared: a column of the table each.

#include <optional>
#include <string>
#include <vector>

#include "tests/behaviour/contained.h"

namespace behaviour {

enum class Kind : unsigned char { kTrainit, kTini, kDumbInit, kCatatonit };

struct Init {
  std::string title;
  Kind kind = Kind::kTrainit;
  std::string program;  // its path; its last part is the name by which it is called
  Words options = {};
};

// program [OPTIONS] [more] -- command
Words command_line(const Init& init, const Words& command, const Words& more = {});

Init trainit();

// A drop-in, or the program whose place it takes, once for each of its ways to forward signals.
struct Pair {
  Init drop_in;              // trainit, called by that name
  std::optional<Init> peer;  // none: not installed
};
// The links to trainit are made in `directory`; without one there are none, only the names.
std::vector<Pair> pairs(const std::string& directory);

// The path of `name` in the usual places.
std::optional<std::string> installed(const std::string& name);

}  // namespace behaviour
