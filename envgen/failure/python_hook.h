#pragma once
// How the Python processes of a job come to write their stacks when they are asked: a
// sitecustomize.py in front on PYTHONPATH registers faulthandler for kStackSignal, with a file of
// the process's own in `dumps`, and passes on to the user's own sitecustomize. Pure.

#include <string>
#include <string_view>

namespace envgen {

// A real-time signal that neither a libc (32 to 34), nor a JVM, a profiler or a launcher uses.
inline constexpr int kStackSignal = 51;

// Below the directory that Observation::stacks names.
inline constexpr std::string_view kHookDirectory = "python";  // on PYTHONPATH
inline constexpr std::string_view kHookFile = "sitecustomize.py";
inline constexpr std::string_view kDumpDirectory = "dumps";  // a file for each process: its pid

std::string python_hook();

// The first line of a process's file.
struct DumpHeader {
  int signal = 0;
  int fd = -1;    // by which the process holds it open
  int rank = -1;  // as its variables say
};
// Not as it should be: signal is 0.
DumpHeader parse_dump_header(std::string_view text);

}  // namespace envgen
