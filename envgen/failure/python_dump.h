#pragma once
// What Python's faulthandler writes of a process's threads (dump_traceback with all_threads), and
// which of its frames mean a collective. Pure.
// The format: https://docs.python.org/3/library/faulthandler.html, Python/traceback.c.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

struct Frame {
  std::string file;
  int line = 0;
  std::string function;

  bool operator==(const Frame&) const = default;
};

// A thread of Python's, its innermost frame first. Of one at its exit there are none.
struct PythonThread {
  std::vector<Frame> frames;

  bool operator==(const PythonThread&) const = default;
};

// The main thread first, which faulthandler writes last. What is no line of a dump is passed over;
// of a text that holds several dumps the threads of all.
std::vector<PythonThread> parse_python_dump(std::string_view text);

// Python's own files and installed packages: not what the user wrote.
bool is_library(std::string_view file);
// The innermost frame of the user's code; where there is none, the innermost one at all. nullptr of
// a thread without frames.
const Frame* user_frame(const PythonThread& thread);
// "train.py:31 in load"
std::string place_of(const Frame& frame);

// The collective that the innermost frames are in, by the name that the user has called:
// "all_reduce", "barrier". nullopt: they are in none.
std::optional<std::string> collective_of(const PythonThread& thread);
// One between two ranks: others have others, rightly.
bool is_between_two(std::string_view collective);

bool has_frame(const PythonThread& thread, std::string_view file_end,
               std::string_view function = "");

}  // namespace envgen
