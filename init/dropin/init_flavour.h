#pragma once
// The flavour of an init: the options and variables of tini, dumb-init or catatonit as one value
// that controls one loop. The value owns no dynamic memory, because each `docker run --init` pays
// for the code that runs before the command's exec.

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace dropin {

enum class Program : unsigned char { kTini, kDumbInit, kCatatonit };

// The process group or session of the command, relative to trainit's.
enum class CommandGroup : unsigned char { kOurGroup, kNewGroup, kNewSession };

enum class Terminal : unsigned char {
  kLeave,
  kStdin,       // the command's group becomes the foreground group of the terminal on stdin
  kDevTty,      // like kStdin, for /dev/tty, or for stdin without it
  kNewSession,  // trainit gives up the terminal, and the command's session gets it
};

struct InitFlavour {
  static constexpr int kSignals = 64;
  static constexpr std::uint8_t kAsItIs = 0xFF;

  InitFlavour() { send_as.fill(kAsItIs); }

  Program program = Program::kTini;
  char** command = nullptr;  // null = no command, and TERM or INT end trainit with 0
  int verbosity = 0;         // each program's own scale (messages.cc)

  CommandGroup command_group = CommandGroup::kNewGroup;
  Terminal terminal = Terminal::kLeave;
  bool callers_signals = true;     // false: the command gets default signals (dumb-init)
  bool move_listen_pid = false;    // if LISTEN_PID is trainit's pid, it is changed to the command's
  bool close_descriptors = false;  // close descriptors from 3 on, once the command has them
  bool leave_directory = false;    // trainit changes to /, the command does not

  bool subreaper = false;
  bool warn_if_no_reaper = false;
  bool warn_on_reap = false;
  int parent_death_signal = 0;  // trainit's own; 0 = none

  bool signal_group = false;                         // signals go to the command's group or session
  std::array<std::uint8_t, kSignals + 1> send_as{};  // indexed by signal number; 0 = dropped
  bool stop_like_command = false;                    // TSTP, TTIN and TTOU stop trainit, too
  bool term_group_at_end = false;                    // send TERM to the remaining group at the end

  std::bitset<256> success;  // exit codes that become 0

  // Fields for debug messages, set only by dumb-init.
  bool debug_by_variable = false;
  bool single_by_variable = false;
};

// An exit instead of a flavour: for --version, --help, or an error of usage.
struct Exit {
  int code = 0;
  std::string out;
  std::string err;
};

struct Input {
  int argc = 0;
  char** argv = nullptr;
  const char* const* environment = nullptr;
  pid_t pid = 0;  // trainit's own, for messages
};

// Returns the value of a variable, or null if it is not set.
const char* variable(const Input& input, std::string_view name);
// Returns "tini" for "/usr/bin/tini".
std::string_view last_part(std::string_view path);

// Parsers of the options and variables, one per source file.
std::expected<InitFlavour, Exit> parse_tini(const Input& input);
std::expected<InitFlavour, Exit> parse_dumb_init(const Input& input);
std::expected<InitFlavour, Exit> parse_catatonit(const Input& input);

}  // namespace dropin
