#include "envgen/failure/find_cause.h"

#include <algorithm>
#include <ranges>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "envgen/failure/evidence.h"
#include "envgen/failure/exception_line.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxLineBytes = 400;
constexpr std::size_t kMaxTracebackLines = 24;
constexpr int kRaised = 1;                // Python's exit code after an uncaught exception
constexpr int kNotFound = 127;            // a shell's exit code for "command not found"
constexpr std::size_t kMaxSpared = 1024;  // maximum number of lines for which later progress is
                                          // searched

// How much output may follow a line that the job has not survived: lines of ordinary output, and
// those of them that show progress. A message has further lines, and other ranks continue for a
// while.
struct LineLimits {
  std::size_t ordinary;
  std::size_t fresh;
};
constexpr LineLimits kBehindEnding = {.ordinary = 64, .fresh = 24};
constexpr LineLimits kBehindMessage = {.ordinary = 24, .fresh = 0};
constexpr LineLimits kBehindUnknown = {.ordinary = 3, .fresh = 0};
constexpr LineLimits kBehindKilled = {.ordinary = 0, .fresh = 0};
// How much output may be between two lines of one failure. kToConsequence applies if the later line
// adds little to the earlier one, kToAnother if it may say more.
constexpr LineLimits kToConsequence = {.ordinary = 24, .fresh = 8};
constexpr LineLimits kToAnother = {.ordinary = 5, .fresh = 0};
// The same between two exceptions of one process, which has then caught the first one.
constexpr LineLimits kToNext = {.ordinary = 0, .fresh = 0};
constexpr std::size_t kMaxToLauncher = 24;  // maximum number of lines of a message and its stack
                                            // before a launcher's line

class Choice {
 public:
  Choice(const Printed& printed, const HowEnded& how) : printed_(printed), how_(how) {}

  [[nodiscard]] const Evidence* best() const {
    const Evidence* best = nullptr;
    std::size_t asked = 0;
    for (const Evidence& next : std::views::reverse(printed_.evidence)) {
      if (best != nullptr ? !explains(next, *best) : !fits(next)) continue;
      if (++asked > kMaxSpared) break;
      if (best == nullptr ? survived(next) : apart(next, *best)) continue;
      best = &next;
    }
    return best;
  }

  // Returns true if no line except `best` explains the end.
  [[nodiscard]] bool is_only_end(const Evidence& best) const {
    return std::ranges::none_of(printed_.evidence, [&](const Evidence& other) {
      const bool signal =
          other.bare && other.row != nullptr && other.row->role == FailureRole::kRoot;
      const bool ends = other.form == Form::kEnding && !other.bare && !other.is_victim();
      return (signal || ends) && (other.row != best.row || other.row == nullptr) &&
             &other != &best && !survived(other);
    });
  }

 private:
  [[nodiscard]] const std::string& stream(const Evidence& of) const {
    return printed_.lines[of.line].stream;
  }

  // Returns true if the exit of the process can be the effect of `one`.
  [[nodiscard]] bool fits(const Evidence& one) const {
    if (!how_.killed || (one.row != nullptr && one.row->ends)) return true;
    return one.form == Form::kEnding && !exceeds(one, kBehindKilled);
  }

  [[nodiscard]] bool exceeds(const Evidence& one, const LineLimits& most) const {
    return printed_.ordinary - one.ordinary > most.ordinary ||
           printed_.fresh - one.fresh > most.fresh;
  }

  // Returns true if the job continued after the line, so that the line did not end it.
  [[nodiscard]] bool survived(const Evidence& one) const {
    const std::size_t end = printed_.lines.size();
    if (one.form == Form::kEnding || (one.bare && one.row != nullptr)) {
      return exceeds(one, kBehindEnding) ||
             (one.doubtful ? printed_.work.went_on(one.line, end)
                           : printed_.work.resumed(stream(one), one.line, end));
    }
    const int code = one.row == nullptr ? -1 : one.row->exit_code;
    const bool other = code >= 0 && how_.exit_code >= 0 && code != how_.exit_code;
    if (other && code == kNotFound) return true;
    const bool weak = one.row == nullptr || one.alone || other || one.form <= Form::kHeard;
    const bool unknown = weak && one.form != Form::kError;
    return exceeds(one, unknown ? kBehindUnknown : kBehindMessage) ||
           printed_.work.went_on(one.line, end);
  }

  // Returns true if the job continued between the two lines, so that the earlier one is not the
  // reason.
  [[nodiscard]] bool apart(const Evidence& earlier, const Evidence& later) const {
    const bool same = later.row != nullptr && later.row == earlier.row;
    const bool consequence = later.bare || later.is_victim() || same;
    const bool next = earlier.form == Form::kEnding && later.form == Form::kEnding &&
                      stream(earlier) == stream(later);
    const LineLimits& most = consequence ? kToConsequence : next ? kToNext : kToAnother;
    const auto between = [](std::size_t from, std::size_t to) { return to > from ? to - from : 0; };
    if (between(earlier.ordinary, later.ordinary) > most.ordinary ||
        between(earlier.fresh, later.fresh) > most.fresh) {
      return true;
    }
    return earlier.form == Form::kEnding && !earlier.doubtful
               ? printed_.work.resumed(stream(earlier), earlier.line, later.line)
               : printed_.work.went_on(earlier.line, later.line);
  }

  [[nodiscard]] static bool is_reason(const FailureRow* reason, const FailureRow* of) {
    return of != nullptr && std::ranges::any_of(of->by, [&](const std::string& start) {
             return start.empty() || (reason != nullptr && reason->id.starts_with(start));
           });
  }

  // Returns true if `earlier` is the reason why `later` was printed, or describes the same event
  // better.
  [[nodiscard]] bool explains(const Evidence& earlier, const Evidence& later) const {
    if (earlier.row != nullptr && earlier.row == later.row) return is_first_mention(earlier, later);
    if (is_reason(earlier.row, later.row)) {
      return earlier.form >= Form::kPlain || later.form < Form::kError;
    }
    if (is_reason(later.row, earlier.row)) return false;
    if (earlier.bare) return later.bare && earlier.weight > later.weight;
    const bool raised = earlier.first < earlier.line;
    const bool killed = later.row != nullptr && later.row->ends;
    if (later.bare &&
        (earlier.form == Form::kEnding || (earlier.form == Form::kError && raised && !killed))) {
      return !killed;  // a process exits or aborts after an exception or a peer's exit, but is not
                       // killed
    }
    if (earlier.form == Form::kEnding) {
      if (later.is_victim()) return !earlier.is_victim() || says_more(earlier, later);
      if (earlier.is_victim()) return false;
      const int least = later.weight + (earlier.doubtful ? 1 : 0);
      return later.form < Form::kEnding || earlier.weight >= least;
    }
    const bool launcher = later.bare && later.row != nullptr && later.row->weight == 0;
    // A launcher's line must follow the output of the failed process directly. For a launcher's
    // traceback there is no such limit.
    if (launcher && later.first == later.line) {
      return earlier.row != nullptr && !earlier.alone && earlier.form >= Form::kPlain &&
             later.line - earlier.line <= kMaxToLauncher;
    }
    if (later.is_victim() && earlier.is_victim()) return says_more(earlier, later);
    if (!later.bare || later.row != nullptr || earlier.row == nullptr) return false;
    if (later.cut) {
      return stream(earlier) == stream(later) ||
             (earlier.form == Form::kError && !stream(earlier).empty());
    }
    // an error line explains the end of native code
    if (later.form == Form::kEnding) return earlier.form == Form::kError;
    return same_speaker(earlier, later);
  }

  // Returns true if both lines, which match the same row of the catalogue, report the same event.
  [[nodiscard]] bool is_first_mention(const Evidence& earlier, const Evidence& later) const {
    if (later.bare) return true;  // a launcher reports an exit in several places
    if (later.form == Form::kEnding) {
      const bool raised = later.first < later.line;
      return earlier.form == Form::kEnding || (earlier.form == Form::kError && !raised);
    }
    const Form least = later.form == Form::kError ? Form::kError : Form::kHeard;
    if (later.form == Form::kInfo || earlier.form < least) return false;
    return printed_.lines[later.line].bare().starts_with(' ') || same_speaker(earlier, later);
  }

  // Returns true if both lines begin alike except for numbers, so that they may be of one logger or
  // host.
  [[nodiscard]] bool same_speaker(const Evidence& one, const Evidence& other) const {
    return head_of(printed_.lines[one.line]) == head_of(printed_.lines[other.line]);
  }

  static std::string head_of(const PrintedLine& line) {
    constexpr std::size_t kHeadBytes = 20;
    std::string head;
    for (const char c : line.bare()) {
      if (head.size() == kHeadBytes) break;
      if ((c < '0' || c > '9') && c != ' ') head += c;
    }
    return head;
  }

  [[nodiscard]] static bool says_more(const Evidence& earlier, const Evidence& later) {
    return earlier.row->failure_class == later.row->failure_class &&
           earlier.weight > later.weight && earlier.form >= later.form;
  }

  const Printed& printed_;
  HowEnded how_;
};

// Returns the line for the result, with credentials masked. If it is too long, the part around `at`
// stays.
std::string shown(const PrintedLine& line, std::size_t at) {
  const std::string masked = base::mask_printed(line.text);
  std::string_view text = masked;
  if (text.size() > kMaxLineBytes && at > kMaxLineBytes / 2 && at < text.size()) {
    std::size_t start = at - kMaxLineBytes / 4;
    while (start < at && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) ++start;
    text.remove_prefix(start);
  }
  return std::string(base::cut_text(text, kMaxLineBytes));
}

std::vector<std::string> traceback_of(const Evidence& best, const Printed& printed) {
  std::vector<std::string> traceback;
  const std::string& stream = printed.lines[best.line].stream;
  for (std::size_t i = best.first; i <= best.line && best.first < best.line; ++i) {
    if (printed.lines[i].stream != stream) continue;
    traceback.push_back(shown(printed.lines[i], 0));
    if (traceback.size() > kMaxTracebackLines) {
      traceback.erase(traceback.begin() + 1);  // keeps the header and removes the oldest lines
                                               // after it
    }
  }
  return traceback;
}

FoundCause told(const Evidence& best, const Printed& printed) {
  const PrintedLine& line = printed.lines[best.line];
  const std::string_view name = exception_name(line.bare());
  FoundCause cause{.failure_class = "script-error"};
  if (best.row != nullptr) {
    cause.failure_class = best.row->failure_class;
    cause.role = best.row->role;
    cause.restart = best.row->restart;
    cause.advice = best.row->advice;
  } else if (best.form == Form::kEnding && name.empty() && !best.cut) {
    cause.failure_class = "segfault";
    cause.advice = "native code ended the process: see the lines around it";
  } else if (is_foreign_exception(name)) {
    cause.restart = RestartHelps::kYes;  // an error that is not known may be temporary
  }
  cause.certain = cause.role == FailureRole::kRoot && !best.bare &&
                  best.weight >= FailureCatalog::kExceptionWeight && best.form >= Form::kError;
  cause.line = shown(line, line.body + best.at);
  cause.traceback = traceback_of(best, printed);
  return cause;
}

}  // namespace

std::optional<FoundCause> find_cause(std::string_view printed, const FailureCatalog& catalog,
                                     const HowEnded& how) {
  if (printed.size() > kMaxSearchedBytes) {
    printed.remove_prefix(printed.size() - kMaxSearchedBytes);
  }
  const Printed read = read_evidence(printed, catalog);
  Choice choice(read, how);
  const Evidence* best = choice.best();
  if (best == nullptr) return std::nullopt;
  FoundCause cause = told(*best, read);
  // Ordinary output after the line shows that a process survived it.
  const bool last = read.ordinary == best->ordinary;
  const bool by_code =
      best->row != nullptr && best->row->exit_code >= 0 && best->row->exit_code == how.exit_code;
  const bool raised = best->whole && (how.exit_code < 0 || how.exit_code == kRaised);
  if (cause.restart == RestartHelps::kNo &&
      (how.lives || !last || (!raised && !by_code) || !choice.is_only_end(*best))) {
    cause.restart = RestartHelps::kUnknown;
  }
  cause.certain = cause.certain && (last || !how.lives);
  return cause;
}

std::string cause_key(std::string_view line) {
  std::string key;
  for (const char c : line) {
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    const bool digit = c >= '0' && c <= '9';
    if (digit) {
      if (!key.ends_with('#')) key += '#';
    } else if (!(hex && key.ends_with('#'))) {
      key += c;
    }
  }
  return key;
}

}  // namespace envgen
