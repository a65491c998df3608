#pragma once
// Recognises variables of options that have no effect before the command runs: how it is stopped,
// the mapping of its exit code, the form of log lines. If only such variables are set, all with
// certainly valid values, the command starts before libc is ready, and main() reads the variables
// later. This code knows only a small part of the grammar of each value; main() accepts or refuses
// any other value. tests/init/early/early_options_test.cc compares the two.

#include <algorithm>

#include "base/policy.h"
#include "init/early/environment_prefixes.h"

namespace early {

enum class Option : unsigned char {
  kNone,  // not such an option, or its value may be invalid
  kTaken,
  kTakenToTheEnd,  // like kTaken, but main() must handle the command's exit, because its code may
                   // be mapped
};

// A table of words without pointers, because this code runs before relocation.
template <const auto& kWords>
struct InlineWords {
  char words[sizeof kWords / sizeof kWords[0]][8] = {};
  constexpr InlineWords() {
    static_assert(std::ranges::all_of(kWords, [](auto& one) { return one.word.size() < 8; }));
    for (unsigned i = 0; i < sizeof kWords / sizeof kWords[0]; ++i) {
      for (unsigned at = 0; at < kWords[i].word.size(); ++at) words[i][at] = kWords[i].word[at];
    }
  }
};
inline constexpr InlineWords<base::kStopScopes> kStopScopes;
inline constexpr char kSecondTerms[][8] = {"kill", "ignore"};
inline constexpr char kLogFormats[][8] = {"human", "json"};
inline constexpr char kLogLevels[][8] = {"info", "warning", "error"};

struct KnownSignal {
  char name[8];
  int number;
};
inline constexpr KnownSignal kKnownSignals[] = {{"TERM", 15}, {"INT", 2},   {"QUIT", 3},
                                                {"HUP", 1},   {"USR1", 10}, {"USR2", 12}};

// A value that is read from its beginning. at_end() is true when all of it has been read.
class Value {
 public:
  constexpr explicit Value(const char* text) : at_(text) {}

  [[nodiscard]] constexpr bool at_end() const { return *at_ == '\0'; }

  constexpr bool take(char wanted) {
    if (*at_ != wanted) return false;
    ++at_;
    return true;
  }

  // Takes the word only if no letter follows it.
  constexpr bool take_word(const char* word) {
    const char* at = at_;
    while (*word != '\0') {
      if (*at++ != *word++) return false;
    }
    if (*at >= 'A' && *at <= 'z') return false;
    at_ = at;
    return true;
  }

  // Reads a number. Returns -1 if there is no digit, or more than `most_digits`.
  constexpr int take_number(int most_digits) {
    int number = 0;
    int digits = 0;
    while (*at_ >= '0' && *at_ <= '9') {
      if (++digits > most_digits) return -1;
      number = number * 10 + (*at_++ - '0');
    }
    return digits > 0 ? number : -1;
  }

  // Reads a duration. Returns milliseconds, or -1.
  constexpr int take_duration() {
    const int number = take_number(4);
    if (number < 0) return -1;
    if (take_word("ms")) return number;
    if (take_word("s")) return number * 1000;
    return take_word("m") ? number * 60'000 : -1;
  }

  // Reads a signal's name. Returns its number, which is the same on every Linux, or 0.
  constexpr int take_signal() {
    for (const KnownSignal& known : kKnownSignals) {
      if (take_word(known.name)) return known.number;
    }
    return 0;
  }

 private:
  const char* at_;
};

constexpr bool is_duration(Value value) { return value.take_duration() >= 0 && value.at_end(); }

template <int kCount>
constexpr bool is_one_of(Value value, const char (&words)[kCount][8]) {
  for (const auto& word : words) {
    if (value.take_word(word)) return value.at_end();
  }
  return false;
}

// Returns true for a list such as "143=0,1-3=75".
constexpr bool is_exit_codes(Value value) {
  constexpr int kMax = 255;
  do {
    const int first = value.take_number(3);
    const int last = value.take('-') ? value.take_number(3) : first;
    if (first < 0 || last < first || last > kMax || !value.take('=')) return false;
    const int to = value.take_number(3);
    if (to < 0 || to > kMax) return false;
  } while (value.take(','));
  return value.at_end();
}

// Returns true for a list such as "TERM=QUIT,USR1=none", with each signal once.
constexpr bool is_signal_map(Value value) {
  unsigned seen = 0;
  do {
    const int from = value.take_signal();
    if (from == 0 || (seen >> from & 1U) != 0 || !value.take('=')) return false;
    seen |= 1U << from;
    if (value.take_signal() == 0 && !value.take_word("none") && !value.take_word("forward")) {
      return false;
    }
  } while (value.take(','));
  return value.at_end();
}

// Returns true for a list such as "INT@10s,QUIT@20s", with each step later than the one before.
constexpr bool is_escalation(Value value) {
  int last_ms = -1;
  do {
    if (value.take_signal() == 0 || !value.take('@')) return false;
    const int after_ms = value.take_duration();
    if (after_ms <= last_ms) return false;
    last_ms = after_ms;
  } while (value.take(','));
  return value.at_end();
}

// Returns how to treat the variable in `entry` ("NAME=VALUE"). An empty value of GRACE counts as
// not set.
constexpr Option option_of(const char* entry) {
  constexpr char kPrefix[] = "TRAINIT_";
  if (!begins_with(entry, kPrefix)) return Option::kNone;
  entry += sizeof kPrefix - 1;
  auto value_of = [entry](const char* name) {
    const char* at = entry;
    while (*name != '\0' && *at == *name) {
      ++at;
      ++name;
    }
    return *name == '\0' && *at == '=' ? at + 1 : nullptr;
  };
  auto taken = [](bool good, Option option) { return good ? option : Option::kNone; };
  if (const char* value = value_of("GRACE")) {
    return taken(*value == '\0' || is_duration(Value(value)), Option::kTaken);
  }
  if (const char* value = value_of("STOP_SCOPE")) {
    return taken(is_one_of(Value(value), kStopScopes.words), Option::kTaken);
  }
  if (const char* value = value_of("SECOND_TERM")) {
    return taken(is_one_of(Value(value), kSecondTerms), Option::kTaken);
  }
  if (const char* value = value_of("LOG_FORMAT")) {
    return taken(is_one_of(Value(value), kLogFormats), Option::kTaken);
  }
  if (const char* value = value_of("LOG_LEVEL")) {
    return taken(is_one_of(Value(value), kLogLevels), Option::kTaken);
  }
  if (const char* value = value_of("EXIT_CODES")) {
    return taken(is_exit_codes(Value(value)), Option::kTakenToTheEnd);
  }
  if (const char* value = value_of("SIGNAL")) {
    return taken(is_signal_map(Value(value)), Option::kTaken);
  }
  // A step that is too late for the grace period is not accepted here, because main() must log it.
  if (const char* value = value_of("ESCALATE")) {
    return taken(is_escalation(Value(value)), Option::kTakenToTheEnd);
  }
  return Option::kNone;
}

}  // namespace early
