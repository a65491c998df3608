#pragma once
// A parser for the stacks that Python's faulthandler writes (dump_traceback with all_threads), and
// functions that find the collective in which a thread is. Pure. Format:
// https://docs.python.org/3/library/faulthandler.html, Python/traceback.c.

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

// A Python thread. Its innermost frame comes first. A thread that is exiting has no frames.
struct PythonThread {
  std::vector<Frame> frames;

  bool operator==(const PythonThread&) const = default;
};

// Returns the threads; the main thread, which faulthandler writes last, comes first. Lines that are
// not part of a dump are ignored. If the text holds several dumps, the result has the threads of
// all dumps, each in its last state.
std::vector<PythonThread> parse_python_dump(std::string_view text);

// Returns true for files of Python itself and of installed packages, which the user did not write.
bool is_library(std::string_view file);
// Returns the innermost frame in the user's code, or the innermost frame if no frame is the user's.
// Returns nullptr for a thread without frames.
const Frame* user_frame(const PythonThread& thread);
// Returns the file, line and function of a frame: "train.py:31 in load".
std::string place_of(const Frame& frame);

// Returns the collective in which the thread is, judged by its innermost frames: the name of the
// function that the user called, as "all_reduce" or "barrier". Returns nullopt outside of a
// collective.
std::optional<std::string> collective_of(const PythonThread& thread);
// Returns true for a transfer between two ranks, such as "send". Ranks that are in other operations
// at the same time may then be right.
bool is_between_two(std::string_view collective);

bool has_frame(const PythonThread& thread, std::string_view file_end,
               std::string_view function = "");

}  // namespace envgen
