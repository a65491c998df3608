#pragma once
// The flavour of an init: what the options and variables of tini, dumb-init or catatonit ask for,
// as one value that drives one loop. Nothing here allocates: whatever runs before the command's
// exec is what every `docker run --init` pays for.

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace dropin {

enum class Program : unsigned char { kTini, kDumbInit, kCatatonit };

// Where the command runs, seen from us.
enum class CommandGroup : unsigned char { kOurGroup, kNewGroup, kNewSession };

enum class Terminal : unsigned char {
  kLeave,
  kStdin,       // the command's group becomes the foreground of the terminal on stdin
  kDevTty,      // the same by /dev/tty, else by stdin
  kNewSession,  // we give the terminal up, and it becomes that of the command's session
};

struct InitFlavour {
  static constexpr int kSignals = 64;
  static constexpr std::uint8_t kAsItIs = 0xFF;

  InitFlavour() { send_as.fill(kAsItIs); }

  Program program = Program::kTini;
  char** command = nullptr;  // null: none is started, TERM or INT end us with 0
  int verbosity = 0;         // each program's own scale, see messages.cc

  CommandGroup command_group = CommandGroup::kNewGroup;
  Terminal terminal = Terminal::kLeave;
  bool callers_signals = true;     // false: the command starts with default ones, as it does there
  bool move_listen_pid = false;    // LISTEN_PID that names us is made to name the command
  bool close_descriptors = false;  // ours from 3 on, once the command has them
  bool leave_directory = false;    // we go to /, the command stays

  bool subreaper = false;
  bool warn_if_no_reaper = false;
  bool warn_on_reap = false;
  int parent_death_signal = 0;  // for ourselves; 0: none

  bool signal_group = false;                         // the command's group or session, not it alone
  std::array<std::uint8_t, kSignals + 1> send_as{};  // by number; 0: is dropped
  bool stop_like_command = false;                    // TSTP, TTIN and TTOU stop us too
  bool term_group_at_end = false;                    // what is left of the group gets TERM

  std::bitset<256> success;  // exit codes that become 0

  // Told when debugging, by dumb-init alone.
  bool debug_by_variable = false;
  bool single_by_variable = false;
};

// The end instead: --version, --help, an error of usage.
struct Exit {
  int code = 0;
  std::string out;
  std::string err;
};

struct Input {
  int argc = 0;
  char** argv = nullptr;
  const char* const* environment = nullptr;
  pid_t pid = 0;  // ours, for messages
};

// Null where it is not set.
const char* variable(const Input& input, std::string_view name);
// "/usr/bin/tini" -> "tini"
std::string_view last_part(std::string_view path);

// One file each.
std::expected<InitFlavour, Exit> parse_tini(const Input& input);
std::expected<InitFlavour, Exit> parse_dumb_init(const Input& input);
std::expected<InitFlavour, Exit> parse_catatonit(const Input& input);

}  // namespace dropin
