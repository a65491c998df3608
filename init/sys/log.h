#pragma once
// trainit's own lines, on stderr, one write(2) each. A reader that stops reading must never stop
// PID 1, and O_NONBLOCK must not be set on a description that the job shares: they go
// through a sys::NonblockingWriter. Lines that do not fit are dropped and counted; the count goes
// out as a line before the next one that fits.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sys::log {

enum class Level : unsigned char { kDebug, kInfo, kWarning, kError };
enum class Format : unsigned char { kHuman, kJson };

// Call once, early, after ensure_standard_fds(); before it, lines are dropped. Human: "trainit:
// warning: text", "trainit: text" for kInfo, with the UTC time before it when `timestamps`. JSON:
// {"time","level","message"} on one line, with "rank" where it is about one. A newline inside a
// message becomes "\n" in text, so that a message stays one line; other control characters and
// bytes that are no UTF-8 become "\x1b"; credentials are masked. A line of more than PIPE_BUF bytes
// is cut and says so: a longer one could be torn. Of equal warnings ten are written in ten seconds;
// the next one after that says how many were not.
void open(Level least, Format format, bool timestamps);
// `rank`: whom the line is about, where it is about one; -1: nobody.
void write(Level level, std::string_view message, int rank = -1);
std::uint64_t dropped();

// From now on each line says which node it comes from, so that the logs of several can be put side
// by side: human "trainit[node 1]: text", JSON "node" and "host".
void set_origin(int node, std::string_view host);

// From now on `inside`, which outlives the log, says whether another writer has left stderr within
// a line. The next line of the log ends that one first.
void watch_line(std::atomic<bool>* inside);
// Call when a process starts that writes to stderr by itself. From then on each JSON record has a
// line end in front: a blank line is nothing to a reader of JSON.
void share_stderr();

// Whether lines can be drawn over: they are for people, on a screen (screen.h).
bool has_screen();
// The last line of the screen: taken away before each line of the log and drawn again behind it,
// until it is "". Only this process draws it, not its children. What the screen does not take at
// once is left out.
void set_status(std::string_view text);
// How many columns its text may have.
int status_columns();

// The log's own descriptors (-1 for one that is not in use). A forked child that closes what it
// inherited spares them; otherwise a file that it opens next would get the log's lines.
std::vector<int> descriptors();

inline void debug(std::string_view message) { write(Level::kDebug, message); }
inline void info(std::string_view message) { write(Level::kInfo, message); }
inline void warning(std::string_view message, int rank = -1) {
  write(Level::kWarning, message, rank);
}
inline void error(std::string_view message, int rank = -1) { write(Level::kError, message, rank); }

}  // namespace sys::log
