#include "envgen/failure/launcher_ranks.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <set>

#include "base/constants/words.h"
#include "base/json.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "envgen/failure/exception_line.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxFailures = 4096;
constexpr std::size_t kMaxMessageBytes = 300;
constexpr int kSignalBase = 128;

// Limits of a number that is read, because the job can print anything.
struct Range {
  int least;
  int most;
};
constexpr int kLastSignal = 64;
constexpr Range kRanks = {0, 10'000'000};
constexpr Range kCodes = {-kLastSignal, 255};  // as set_code takes them
constexpr Range kExitCodes = {0, 255};
constexpr Range kSignalRange = {1, kLastSignal};

// Returns the number after `label`, up to the first non-digit. A "-" may precede the digits.
std::optional<int> number_behind(std::string_view text, std::string_view label, Range range) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = base::trimmed(text.substr(at + label.size()));
  const std::size_t sign = rest.starts_with('-') ? 1 : 0;
  const std::size_t end = rest.find_first_not_of("0123456789", sign);
  const auto number = base::parse_number<int>(rest.substr(0, end));
  const bool fits = number && *number >= range.least && *number <= range.most;
  return fits ? number : std::nullopt;
}

std::string_view word_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + label.size());
  return base::take_word(rest);
}

// Sets the exit code or the signal from a code as shells and Python write it: a negative code is a
// signal. 137 may be an exit code, so it stays one.
void set_code(RankFailure& failure, int code) {
  if (code < 0) {
    failure.signal = -code;
  } else {
    failure.exit_code = code;
  }
}

std::string shortened(std::string_view text) {
  return std::string(base::trimmed(text).substr(0, kMaxMessageBytes));
}

// Returns true if the rank's message says only that another rank, or its node, has failed.
bool is_victim(const RankFailure& failure, const FailureCatalog& catalog) {
  const FailureRow* row = catalog.match(failure.message, true).row;
  return row != nullptr && row->role == FailureRole::kVictim;
}

// Returns true for signals by which the kernel ends a process; no process or launcher sends them by
// accident. SIGKILL is one of them: a launcher sends it only to ranks that it does not report.
bool killed_by_kernel(int signal) {
  constexpr auto kSignals = std::to_array({SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE});
  return std::ranges::find(kSignals, signal) != kSignals.end();
}

// Reads the output line by line, and keeps what the formats need of earlier lines.
class Reader {
 public:
  void line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    const bool taken = torchrun(text) || open_mpi(text) || hydra(text) || deepspeed(text) ||
                       srun(text) || mpi_abort(text);
    if (!taken) own_line(text);
  }

  std::vector<RankFailure> take() && {
    add_own_words();
    return std::move(failures_);
  }

 private:
  enum class Table : unsigned char { kNone, kOthers, kRoot };

  // For each format: the index of the failure that later lines will complete.
  struct Open {
    std::optional<std::size_t> entry, root, wrapped, named, hydra, aborted;
  };

  RankFailure* failure_at(std::optional<std::size_t> index) {
    return index && *index < failures_.size() ? &failures_[*index] : nullptr;
  }

  RankFailure& add(std::string_view launcher) {
    if (failures_.size() == kMaxFailures) {
      failures_.pop_back();
      open_ = {};
    }
    failures_.emplace_back().launcher = launcher;
    return failures_.back();
  }

  [[nodiscard]] std::size_t newest() const { return failures_.size() - 1; }

  bool torchrun(std::string_view text) {
    const std::string_view line = base::trimmed(text);
    if (line == "Failures:" || line.starts_with("Root Cause (first observed failure)")) {
      table_ = line == "Failures:" ? Table::kOthers : Table::kRoot;
      if (table_ == Table::kOthers) {
        failures_.clear();
        open_ = {};
      }
      open_.entry.reset();
      return true;
    }
    if (table_ == Table::kNone) return false;
    if (line.starts_with("====")) {
      end_table();
      return true;
    }
    entry_line(line);
    return true;
  }

  void entry_line(std::string_view line) {
    RankFailure* entry = failure_at(open_.entry);
    if (line.starts_with("rank ") && line.find("(local_rank:") != std::string_view::npos) {
      RankFailure& failure = add("torchrun");
      failure.rank = number_behind(line, "rank      :", kRanks).value_or(-1);
      failure.local_rank = number_behind(line, "local_rank:", kRanks).value_or(-1);
      failure.host = host_;
      if (table_ == Table::kRoot) open_.root = newest();
      open_.entry = newest();
    } else if (line.starts_with("host ")) {
      host_ = word_behind(line, ":");
      open_.entry.reset();
    } else if (entry == nullptr) {
      return;
    } else if (line.starts_with("exitcode ")) {
      if (auto code = number_behind(line, ":", kCodes)) set_code(*entry, *code);
    } else if (line.starts_with("error_file:")) {
      const std::string_view path = word_behind(line, ":");
      if (path != "<N/A>") entry->error_file = path;
    } else if (!exception_name(line).empty()) {
      entry->message = shortened(line);
    }
  }

  // Ends torchrun's table: moves the failure that it calls the root cause to the front.
  void end_table() {
    table_ = Table::kNone;
    if (failure_at(open_.root) != nullptr) {
      const auto root = failures_.begin() + static_cast<std::ptrdiff_t>(*open_.root);
      std::rotate(failures_.begin(), root, root + 1);
    }
    open_ = {};
  }

  // Reads "mpirun.openmpi noticed that process rank 1 with PID 0 on node vm exited on signal 11
  // (...)." Also reads "Process name: [[11049,1],1]" or "Process name: [prterun-host-123@1,1]",
  // followed by "Exit code: 3".
  bool open_mpi(std::string_view text) {
    if (text.find(" noticed that process rank ") != std::string_view::npos) {
      RankFailure& failure = add("mpirun");
      failure.rank = number_behind(text, "process rank ", kRanks).value_or(-1);
      failure.host = word_behind(text, " on node ");
      failure.signal = number_behind(text, "exited on signal ", kSignalRange).value_or(0);
      open_.wrapped.reset();
      if (failure.signal == 0)
        open_.wrapped = newest();  // PRRTE breaks the line: the signal may
                                   // be in the next one
      return true;
    }
    if (RankFailure* failure = failure_at(open_.wrapped);
        failure != nullptr && base::trimmed(text).starts_with("signal ")) {
      failure->signal = number_behind(text, "signal ", kSignalRange).value_or(0);
      open_.wrapped.reset();
      return true;
    }
    const std::string_view line = base::trimmed(text);
    if (constexpr std::string_view kName = "Process name: "; line.starts_with(kName)) {
      const std::size_t comma = line.rfind(',');
      const std::size_t at = comma == std::string_view::npos ? kName.size() : comma + 1;
      RankFailure& failure = add("mpirun");  // horovodrun's line is the same, but has only the rank
      failure.rank = number_behind(line.substr(at), "", kRanks).value_or(-1);
      open_.named = newest();
      return true;
    }
    RankFailure* named = failure_at(open_.named);
    if (named == nullptr || !line.starts_with("Exit code:")) return false;
    open_.named.reset();
    if (auto code = number_behind(line, "Exit code:", kCodes)) set_code(*named, *code);
    return true;
  }

  // Reads "=   RANK 1 PID 4242 RUNNING AT node-1" (Intel), "=   PID 4242 RUNNING AT node-1".
  bool hydra(std::string_view text) {
    if (!text.starts_with("=   ")) return hydra_end(text);
    RankFailure* open = failure_at(open_.hydra);
    if (text.find(" RUNNING AT ") != std::string_view::npos) {
      RankFailure& failure = add("mpiexec");
      failure.rank = number_behind(text, "RANK ", kRanks).value_or(-1);
      failure.host = word_behind(text, " RUNNING AT ");
      open_.hydra = newest();
    } else if (open != nullptr && text.find("KILLED BY SIGNAL:") != std::string_view::npos) {
      open->signal = number_behind(text, "KILLED BY SIGNAL:", kSignalRange).value_or(0);
    } else if (open != nullptr && text.find("EXIT CODE:") != std::string_view::npos) {
      if (auto code = number_behind(text, "EXIT CODE:", kCodes)) set_code(*open, *code);
    }
    return true;
  }

  // Reads Hydra's exit string. If it names a signal, the code in the line before was a wait status.
  bool hydra_end(std::string_view text) {
    constexpr std::string_view kEnd = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING:";
    RankFailure* open = failure_at(open_.hydra);
    if (open == nullptr || !text.starts_with(kEnd)) return false;
    open_.hydra.reset();
    if (auto signal = number_behind(text, "(signal ", kSignalRange)) {
      open->signal = *signal;
      open->exit_code = -1;
    }
    return true;
  }

  // Reads "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", "with errorcode 3.";
  // also "application called MPI_Abort(MPI_COMM_WORLD, 3) - process 1".
  bool mpi_abort(std::string_view text) {
    const auto rank = text.find("MPI_ABORT was invoked on rank ") != std::string_view::npos
                          ? number_behind(text, "MPI_ABORT was invoked on rank ", kRanks)
                          : std::nullopt;
    const bool hydra = text.find("application called MPI_Abort(") != std::string_view::npos;
    if (constexpr std::string_view kCode = "with errorcode "; text.starts_with(kCode)) {
      RankFailure* aborted = failure_at(open_.aborted);
      if (aborted == nullptr) return false;
      aborted->exit_code = number_behind(text, kCode, kExitCodes).value_or(-1);
      return true;
    }
    if (!rank && !hydra) return false;
    RankFailure& failure = add(hydra ? "mpiexec" : "mpirun");
    failure.rank = rank ? *rank : number_behind(text, "process ", kRanks).value_or(-1);
    failure.message = "MPI_Abort";
    open_.aborted = newest();
    return true;
  }

  // Reads "[...] [ERROR] [launch.py:321:sigkill_handler] [... '--local_rank=1', ...] exits with
  // return code = -11"; pdsh writes "node-1: " before it.
  bool deepspeed(std::string_view text) {
    constexpr std::string_view kCode = "] exits with return code = ";
    if (text.find(":sigkill_handler]") == std::string_view::npos) return false;
    const auto code = number_behind(text, kCode, kCodes);
    if (!code) return true;
    RankFailure& failure = add("deepspeed");
    failure.local_rank = number_behind(text, "--local_rank=", kRanks).value_or(-1);
    set_code(failure, *code);
    const std::size_t bracket = text.find('[');
    const std::string_view before = base::trimmed(text.substr(0, bracket));
    if (before.ends_with(':')) failure.host = before.substr(0, before.size() - 1);
    return true;
  }

  // Reads "srun: error: node-1: task 3: Exited with exit code 1", "...: task 3: Killed".
  bool srun(std::string_view text) {
    constexpr std::string_view kStart = "srun: error: ";
    const auto task =
        text.starts_with(kStart) ? number_behind(text, ": task ", kRanks) : std::nullopt;
    if (!task) return false;
    RankFailure& failure = add("srun");
    failure.rank = *task;
    failure.host = text.substr(kStart.size(), text.find(':', kStart.size()) - kStart.size());
    failure.exit_code = number_behind(text, "exit code ", kExitCodes).value_or(-1);
    if (text.ends_with(": Killed")) failure.signal = SIGKILL;
    if (text.find("Segmentation fault") != std::string_view::npos) failure.signal = SIGSEGV;
    if (text.find("Bus error") != std::string_view::npos) failure.signal = SIGBUS;
    return true;
  }

  // Reads an exception from a line whose prefix names a rank. Only the first one of each rank is
  // kept.
  void own_line(std::string_view text) {
    const int rank = rank_before(text);
    if (rank < 0) return;
    const std::size_t end = text.find(text.find(">:") == std::string_view::npos ? ']' : '>');
    std::string_view word = text.substr(std::min(end + 1, text.size()));
    if (word.starts_with(':')) word.remove_prefix(1);
    word = base::trimmed(word);
    if (!is_exception(word)) return;
    RankFailure own;
    own.rank = rank;
    own.message = shortened(word);
    own.by_launcher = false;
    const bool first = std::ranges::find(own_, rank, &RankFailure::rank) == own_.end();
    if (first && own_.size() < kMaxFailures) own_.push_back(std::move(own));
  }

  void add_own_words() {
    for (const RankFailure& own : own_) {
      const auto told = std::ranges::find(failures_, own.rank, &RankFailure::rank);
      if (told != failures_.end() && told->message.empty()) told->message = own.message;
    }
  }

  std::vector<RankFailure> failures_;
  std::vector<RankFailure> own_;
  Table table_ = Table::kNone;
  std::string host_;
  Open open_;
};

std::string name_of(const RankFailure& failure) {
  if (failure.rank >= 0) return "rank " + std::to_string(failure.rank);
  return failure.local_rank >= 0 ? "local rank " + std::to_string(failure.local_rank) : "a rank";
}

}  // namespace

std::vector<RankFailure> told_failures(std::string_view printed) {
  Reader reader;
  while (!printed.empty()) reader.line(base::take_line(printed));
  return std::move(reader).take();
}

bool read_error_file(std::string_view text, RankFailure& failure) {
  const auto document = base::json::Document::parse(text, failure.error_file);
  if (!document || !document->root().is(base::json::Type::kObject)) return false;
  const auto message = document->root().find("message");
  if (!message) return false;
  if (!message->is(base::json::Type::kObject)) {
    failure.message = shortened(message->text());
    return true;
  }
  if (const auto said = message->find("message")) failure.message = shortened(said->text());
  const auto more = message->find("extraInfo");
  const auto at =
      more && more->is(base::json::Type::kObject) ? more->find("timestamp") : std::nullopt;
  if (at) failure.at_s = base::parse_count<std::int64_t>(at->text()).value_or(0);
  return true;
}

std::optional<RankFailure> first_of(const std::vector<RankFailure>& failures,
                                    const FailureCatalog& catalog) {
  std::vector<const RankFailure*> candidates;
  for (const RankFailure& failure : failures) {
    if (killed_by_kernel(failure.signal)) candidates.push_back(&failure);
  }
  if (!candidates.empty()) return *candidates[0];
  const bool unordered =
      !failures.empty() && (failures[0].launcher == "torchrun" || failures[0].launcher == "msrun");
  // Launchers without a table name only the first failure, or list failures in the order of exits.
  if (!unordered || failures.size() == 1) {
    return failures.empty() ? std::nullopt : std::optional(failures[0]);
  }
  for (const RankFailure& failure : failures) {
    if (!failure.message.empty() && !is_victim(failure, catalog)) {
      candidates.push_back(&failure);
    }
  }
  const bool all_speak = std::ranges::none_of(
      failures, [](const RankFailure& failure) { return failure.message.empty(); });
  if (candidates.size() == 1) return *candidates[0];
  // The times have a resolution of a second. Of ranks that failed in the same second, the one that
  // the launcher lists first is chosen.
  if (all_speak && candidates.empty()) {
    for (const RankFailure& failure : failures) candidates.push_back(&failure);
  }
  const bool timed =
      std::ranges::all_of(candidates, [](const RankFailure* failure) { return failure->at_s > 0; });
  if (candidates.empty() || !timed) return std::nullopt;
  return **std::ranges::min_element(candidates, {},
                                    [](const RankFailure* failure) { return failure->at_s; });
}

std::string told_text(const std::vector<RankFailure>& failures, const FailureCatalog& catalog) {
  if (failures.empty()) return "";
  const auto first = first_of(failures, catalog);
  if (!first) {
    constexpr std::size_t kMaxNamed = 8;
    std::set<int> ranks;
    for (const RankFailure& failure : failures) ranks.insert(failure.rank);
    std::string names;
    std::size_t count = 0;
    for (const int rank : ranks) {
      if (++count > kMaxNamed) break;
      names += (count == 1 ? "" : ", ") + std::to_string(rank);
    }
    if (ranks.size() > kMaxNamed) names += ", ...";
    return "ranks " + names + " (in " + failures[0].launcher +
           ") failed, and which was first is not known";
  }
  std::string text = name_of(*first) + " (in " + first->launcher;
  if (!first->host.empty() && first->host != "localhost") text += ", on " + first->host;
  text += ")";
  if (first->signal > 0) {
    text += " was killed by " + base::signal_name(first->signal);
  } else if (first->exit_code >= 0) {
    text += " exited with code " + std::to_string(first->exit_code);
  } else {
    text += " failed";
  }
  return first->message.empty() ? text : text + ": " + first->message;
}

int rank_of(std::string_view digits) {
  const auto rank = base::parse_count<int>(digits);
  return rank && *rank <= kRanks.most ? *rank : -1;
}

int rank_before(std::string_view line) {
  if (!line.starts_with('[')) return -1;
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return -1;
  std::string_view inside = line.substr(1, end - 1);
  const std::string_view behind = line.substr(end + 1);
  for (const std::string_view word : {"rank", "default", "trainer", "worker"}) {
    if (!inside.starts_with(word)) continue;
    return behind.starts_with(':') ? rank_of(inside.substr(word.size())) : -1;
  }
  // A prefix of Open MPI contains job and rank, one of MPICH only the rank.
  const std::size_t comma = inside.find(',');
  if (comma != std::string_view::npos) {
    const bool tagged = behind.starts_with("<stderr>:") || behind.starts_with("<stdout>:");
    return tagged ? rank_of(inside.substr(comma + 1)) : -1;
  }
  return behind.starts_with(' ') ? rank_of(inside) : -1;
}

std::string last_exception(std::string_view printed) {
  std::string last;
  while (!printed.empty()) {
    const std::string_view line = base::trimmed(base::take_line(printed));
    if (is_exception(line)) last = shortened(line);
  }
  return last;
}

int rank_of_worker_log(std::string_view file_name) {
  constexpr std::string_view kStart = "worker_";
  constexpr std::string_view kEnd = ".log";
  if (!file_name.starts_with(kStart) || !file_name.ends_with(kEnd)) return -1;
  file_name.remove_suffix(kEnd.size());
  // With --worker_log_name, the name is "worker_<name>_3.log".
  return rank_of(file_name.substr(file_name.rfind('_') + 1));
}

}  // namespace envgen
