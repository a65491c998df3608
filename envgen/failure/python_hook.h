#pragma once
// Makes the Python processes of a job write their stacks on request. A sitecustomize.py at the
// front of PYTHONPATH registers faulthandler for kStackSignal. Each process opens its own file in
// `dumps`. Then the user's own sitecustomize is imported. Pure.

#include <string>
#include <string_view>

namespace envgen {

// A real-time signal that is not used by any libc (32 to 34), JVM, profiler or launcher.
inline constexpr int kStackSignal = 51;

// Names below the directory Observation::stacks.
inline constexpr std::string_view kHookDirectory = "python";  // the hook's entry in PYTHONPATH
inline constexpr std::string_view kHookFile = "sitecustomize.py";
inline constexpr std::string_view kDumpDirectory = "dumps";  // one file per process: its pid

std::string python_hook();

// The first line of a process's dump file.
struct DumpHeader {
  int signal = 0;
  int fd = -1;    // descriptor of the open file in the process
  int rank = -1;  // rank from the process's environment; -1: not set
};
// Parses the first line of a dump file. If it is malformed, the result has signal 0.
DumpHeader parse_dump_header(std::string_view text);

}  // namespace envgen
