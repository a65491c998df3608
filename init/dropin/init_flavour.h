#pragma once
// The flavour of an init: what the options and variables of tini, dumb-init or catatonit ask for,
// as one value that controls the loop (loop.h). The value owns no dynamic memory, because each
// `docker run --init` pays for the code that runs before the command's exec.

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace dropin {

enum class Program : unsigned char { kTini, kDumbInit, kCatatonit };

// The process group or session of the command, compared with trainit's.
enum class CommandGroup : unsigned char { kOurGroup, kNewGroup, kNewSession };

enum class Terminal : unsigned char {
  kLeave,
  kStdin,       // the command's group becomes the foreground group of the terminal on stdin
  kDevTty,      // like kStdin, but for /dev/tty, or for stdin if that cannot be opened
  kNewSession,  // trainit gives up the terminal, and the command's session gets it
};

struct InitFlavour {
  static constexpr int kSignals = 64;
  static constexpr std::uint8_t kAsItIs = 0xFF;

  InitFlavour() { send_as.fill(kAsItIs); }

  Program program = Program::kTini;
  char** command = nullptr;  // null = no command: trainit waits, and TERM or INT end it with 0
  int verbosity = 0;         // level on the program's own scale (messages.cc)

  CommandGroup command_group = CommandGroup::kNewGroup;
  Terminal terminal = Terminal::kLeave;
  bool callers_signals = true;     // false: the command gets default signals (dumb-init)
  bool move_listen_pid = false;    // if LISTEN_PID is trainit's pid, it is changed to the command's
  bool close_descriptors = false;  // descriptors from 3 on are closed, after the command has got
                                   // them
  bool leave_directory = false;    // trainit changes to /, the command does not

  bool subreaper = false;
  bool warn_if_no_reaper = false;
  bool warn_on_reap = false;
  int parent_death_signal = 0;  // parent-death signal of trainit itself; 0 = none

  bool signal_group = false;  // signals are sent to the command's group or session instead of only
                              // to the command
  std::array<std::uint8_t, kSignals + 1> send_as{};  // the signal to send instead of each signal; 0
                                                     // = dropped
  bool stop_like_command = false;                    // TSTP, TTIN and TTOU also stop trainit
  bool term_group_at_end = false;  // at the end, the rest of the command's group gets TERM

  std::bitset<256> success;  // exit codes that are replaced by 0

  // Members for debug messages, which only dumb-init sets.
  bool debug_by_variable = false;
  bool single_by_variable = false;
};

// The output and exit code if no command is run: for --version, --help, or an error of usage.
struct Exit {
  int code = 0;
  std::string out;
  std::string err;
};

struct Input {
  int argc = 0;
  char** argv = nullptr;
  const char* const* environment = nullptr;
  pid_t pid = 0;  // pid of trainit, for messages
};

// Returns the value of a variable; null if it is not set.
const char* variable(const Input& input, std::string_view name);
// Returns the last part of a path: "tini" for "/usr/bin/tini".
std::string_view last_part(std::string_view path);

// Parsers of the options and variables, one per source file.
std::expected<InitFlavour, Exit> parse_tini(const Input& input);
std::expected<InitFlavour, Exit> parse_dumb_init(const Input& input);
std::expected<InitFlavour, Exit> parse_catatonit(const Input& input);

}  // namespace dropin
