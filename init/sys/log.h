#pragma once
// The log of trainit: lines on stderr, one write(2) each. A reader that stops reading must not
// block PID 1, and O_NONBLOCK must not be set on the open file, which the job shares. So the log
// writes through a sys::NonblockingWriter. Lines that do not fit are dropped and counted. The next
// line that fits is preceded by a line with that count.

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sys::log {

enum class Level : unsigned char { kDebug, kInfo, kWarning, kError };
enum class Format : unsigned char { kHuman, kJson };

// Opens the log. Call it once, early, after ensure_standard_fds(); lines before that are dropped.
//
// The human format is "trainit: warning: text", for kInfo "trainit: text"; with `timestamps` the
// UTC time comes first. The JSON format is {"time","level","message"} on one line, with "rank" if
// the line is about a rank.
//
// A newline in a message is written as "\n", so that a message stays one line. Other control
// characters, and bytes that are not UTF-8, become escapes such as "\x1b". Credentials are masked.
// A line of more than PIPE_BUF bytes is cut and marked, because other writers could split a longer
// one. Within ten seconds, ten equal warnings are written; the next one after that reports how many
// were suppressed.
void open(Level least, Format format, bool timestamps);
// Writes a line. `rank` is the rank that the line is about, or -1.
void write(Level level, std::string_view message, int rank = -1);
std::uint64_t dropped();

// Adds the name of this node to each following line, so that the logs of several nodes can be
// compared. The human format then begins with "trainit[node 1]: ", and JSON has "node" and "host".
void set_origin(int node, std::string_view host);

// Sets a flag by which another writer of stderr reports that it has ended within a line. The next
// line of the log then begins with a line end. `inside` must outlive the log.
void watch_line(std::atomic<bool>* inside);
// Call this when a process starts that writes to stderr directly, and may leave an incomplete line.
// Each following JSON record begins with a line end; readers of JSON ignore a blank line.
void share_stderr();

// Returns true if lines can be redrawn: they are for people, on a screen (screen.h).
bool has_screen();
// Sets the status line, the last line of the screen; "" removes it. The log erases it before each
// line and draws it again after the line. Only this process draws it, not its children. A part that
// the screen does not take at once is left out.
void set_status(std::string_view text);
// Returns the maximum number of columns for the text of the status line.
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
