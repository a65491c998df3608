#pragma once
// The log of trainit: lines on stderr, one write(2) each. A reader that stops reading must never
// block PID 1, and O_NONBLOCK must not be set on a description that the job shares. So lines go
// through a sys::NonblockingWriter. Lines that do not fit are dropped and counted; the count is
// written as a line before the next one that fits.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sys::log {

enum class Level : unsigned char { kDebug, kInfo, kWarning, kError };
enum class Format : unsigned char { kHuman, kJson };

// Opens the log. Call it once, early, after ensure_standard_fds(); lines before it are dropped.
//
// Human format: "trainit: warning: text", "trainit: text" for kInfo, with the UTC time before it
// when `timestamps`. JSON format: {"time","level","message"} on one line, with "rank" if the line
// is about a rank.
//
// A newline inside a message becomes "\n" in text, so that a message stays one line. Other control
// characters and invalid UTF-8 bytes become escapes such as "\x1b". Credentials are masked. A line
// of more than PIPE_BUF bytes is cut and marked: other writers could split a longer one. Ten equal
// warnings are written in ten seconds; the next one after that reports how many were suppressed.
void open(Level least, Format format, bool timestamps);
// Writes a line. `rank` is the rank that the line is about, or -1.
void write(Level level, std::string_view message, int rank = -1);
std::uint64_t dropped();

// Adds this node to each following line, so that the logs of several nodes can be put side by side.
// Human format has "trainit[node 1]: text", JSON "node" and "host".
void set_origin(int node, std::string_view host);

// Sets the flag by which another writer reports that it has left stderr within a line. The next
// line of the log ends that line first. `inside` must outlive the log.
void watch_line(std::atomic<bool>* inside);
// Call it when a process starts that writes to stderr directly and may leave a partial line. Each
// following JSON record begins with a line end; readers of JSON ignore a blank line.
void share_stderr();

// Returns whether lines can be drawn over: they are for people, on a screen (screen.h).
bool has_screen();
// Sets the status line, the last line of the screen. The log erases it before each line and draws
// it again after it, until the text is "". Only this process draws it, not its children. A part
// that the screen does not take at once is left out.
void set_status(std::string_view text);
// Returns how many columns the text of the status line may have.
int status_columns();

// Returns the log's own descriptors (-1 for an unused one). A forked child that closes inherited
// descriptors must keep them; otherwise the file that it opens next would get the log's lines.
std::vector<int> descriptors();

inline void debug(std::string_view message) { write(Level::kDebug, message); }
inline void info(std::string_view message) { write(Level::kInfo, message); }
inline void warning(std::string_view message, int rank = -1) {
  write(Level::kWarning, message, rank);
}
inline void error(std::string_view message, int rank = -1) { write(Level::kError, message, rank); }

}  // namespace sys::log
