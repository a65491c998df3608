#pragma once
// Makes the Python processes of a job write their stacks on request. The directory of a
// sitecustomize.py is put at the front of PYTHONPATH. That file registers faulthandler for
// kStackSignal, with a file for each process in `dumps`, and then imports the user's own
// sitecustomize. Pure.

#include <string>
#include <string_view>

namespace envgen {

// A real-time signal that no libc (32 to 34), JVM, profiler or launcher uses.
inline constexpr int kStackSignal = 51;

// Names of the directories below Observation::stacks.
inline constexpr std::string_view kHookDirectory = "python";  // the hook's entry in PYTHONPATH
inline constexpr std::string_view kHookFile = "sitecustomize.py";
// one file for each process, named by its pid
inline constexpr std::string_view kDumpDirectory = "dumps";

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
