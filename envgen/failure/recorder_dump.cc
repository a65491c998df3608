#include "envgen/failure/recorder_dump.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/printed_text.h"
#include "base/text.h"
#include "envgen/failure/pickle.h"

namespace envgen {
namespace {

using Kind = DataValue::Kind;

constexpr const char* kCoalesced = "coalesced";
constexpr std::int64_t kNsInMs = 1'000'000;
constexpr std::size_t kMaxMembers = 65'536;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

std::string short_text(std::string_view text) {
  // Cuts first, because cleaning a text of 64 KiB would be wasted.
  const std::string plain = base::plain_text(base::cut_text(text, RecorderDump::kMaxNameBytes));
  return std::string(base::cut_text(plain, RecorderDump::kMaxNameBytes));
}

// Returns the integer at `key`. The counters of "pg_status" are strings in JSON.
std::optional<std::int64_t> integer_in(const DataValue& dict, std::string_view key) {
  const auto value = dict.find(key);
  if (!value) return std::nullopt;
  if (value->kind() == Kind::kText) return base::parse_number<std::int64_t>(value->text());
  return value->integer();
}

std::string_view text_in(const DataValue& dict, std::string_view key) {
  const auto value = dict.find(key);
  return value ? value->text() : std::string_view();
}

// Returns the ranks in "[0, 1, 2]", or in a list of numbers. Returns an empty list if they are not
// known.
std::vector<int> ranks_of(const DataValue& value) {
  std::vector<int> ranks;
  if (value.kind() == Kind::kList || value.kind() == Kind::kTuple) {
    for (std::size_t i = 0; i < std::min(value.size(), kMaxMembers); ++i) {
      ranks.push_back(static_cast<int>(value.item(i).integer().value_or(-1)));
    }
  } else {
    std::string_view rest = value.text();
    if (!rest.starts_with('[') || !rest.ends_with(']')) return {};
    rest = rest.substr(1, rest.size() - 2);
    while (!rest.empty() && ranks.size() < kMaxMembers) {
      ranks.push_back(
          base::parse_count<int>(base::trimmed(base::take_part(rest, ','))).value_or(-1));
    }
  }
  const bool good = std::ranges::none_of(ranks, [](int rank) { return rank < 0; });
  return good ? ranks : std::vector<int>();
}

std::vector<RankRun> runs_of(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::vector<RankRun> runs;
  for (const int rank : ranks) {
    if (!runs.empty()) {
      RankRun& last = runs.back();
      if (last.count == 1 && rank > last.first) last.step = rank - last.first;
      if (rank == last.first + last.count * last.step) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({rank, 1, 1});
  }
  return runs;
}

// Returns the name in "nccl:send 0->3", without the library, the peers and the marks of internal
// names.
std::string operation_name(std::string_view profile) {
  if (const std::size_t colon = profile.find(':'); colon != std::string_view::npos) {
    profile.remove_prefix(colon + 1);
  }
  std::string_view name = base::take_word(profile);
  while (name.starts_with('_')) name.remove_prefix(1);
  if (name.ends_with("_base")) name.remove_suffix(5);
  return short_text(name);
}

// Returns the peer in "nccl:send 0->3" or "nccl:recv 0<-3": 3, a rank within the group.
std::optional<int> peer_in_group(std::string_view profile) {
  for (const std::string_view arrow : {"->", "<-"}) {
    const std::size_t at = profile.find(arrow);
    if (at == std::string_view::npos) continue;
    std::string_view rest = profile.substr(at + arrow.size());
    return base::parse_count<int>(base::take_word(rest));
  }
  return std::nullopt;
}

// Returns the number of elements of all tensors in "input_sizes", a list of lists. Returns -1 if
// the number is not known.
std::int64_t elements_of(const DataValue& entry, std::string_view key) {
  const auto sizes = entry.find(key);
  if (!sizes || (sizes->kind() != Kind::kList && sizes->kind() != Kind::kTuple)) return -1;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const DataValue tensor = sizes->item(i);
    std::int64_t count = 1;
    for (std::size_t d = 0; d < tensor.size(); ++d) {
      const std::int64_t size = tensor.item(d).integer().value_or(-1);
      if (size < 0 || (size > 0 && count > kMaxElements / size)) return -1;
      count *= size;
    }
    if (count > kMaxElements - total) return -1;
    total += count;
  }
  return total;
}

class DumpReader {
 public:
  DumpReader(const DataValue& root, std::string_view where) : root_(root), where_(where) {}
  base::Result<RecorderDump> read();

 private:
  struct Entry {
    std::size_t group = 0;
    std::optional<std::int64_t> number;  // "pg_id"
    std::string_view profile;
    bool transfer = false;
    bool mixed = false;  // the rank has also made transfers in the group
    bool pending = false;
    std::int64_t collective = -1;  // "collective_seq_id"
    std::int64_t sequence = -1;    // the number that counts operations of this kind
    PendingOperation operation = {};
  };

  [[nodiscard]] std::unexpected<base::Error> failed(std::string found, std::string fix) const {
    return base::fail("reading a flight recorder's dump", std::string(where_), std::move(found),
                      std::move(fix));
  }
  base::Status check_version();
  void read_groups();
  [[nodiscard]] std::optional<std::size_t> group_of(const DataValue& entry) const;
  bool read_entry(const DataValue& value, Entry& entry);
  void read_entries(const DataValue& list);
  void read_peer(Entry& entry) const;
  void resolve_coalesced();
  void note_counters(const Entry& entry);
  void read_status();
  [[nodiscard]] std::map<std::int64_t, std::size_t> numbered_groups(const DataValue& status);
  void keep_pending();
  void bound();

  const DataValue& root_;
  std::string_view where_;
  RecorderDump dump_;
  std::vector<std::vector<int>> members_;  // for each group its ranks, in the group's own order
  std::map<std::string_view, std::size_t> by_name_;
  std::map<std::int64_t, std::size_t> by_number_;  // "pg_id" of an entry -> index of its group
  std::vector<Entry> entries_;
};

base::Status DumpReader::check_version() {
  if (root_.kind() != Kind::kDict) {
    return failed("no dictionary", "let the rank write the dump again");
  }
  const auto version = root_.find("version");
  if (version) dump_.version = short_text(version->text());
  if (!version || !dump_.version.starts_with("2.")) {
    return failed(version ? "version " + base::quoted(version->text()) : "no version",
                  "read it with the analyzer of the PyTorch that wrote it: trainit knows 2.x");
  }
  return {};
}

void DumpReader::read_groups() {
  const auto config = root_.find("pg_config");
  if (!config) return;
  for (std::size_t i = 0; i < config->size() && config->kind() == Kind::kDict; ++i) {
    const DataValue info = config->item(i);
    const auto ranks = info.find("ranks");
    const std::string_view name = config->key(i).text();
    std::vector<int> members = ranks ? ranks_of(*ranks) : std::vector<int>();
    // Ignores a group whose members are not known, because it shows nothing about other ranks.
    if (members.empty() || !by_name_.emplace(name, dump_.groups.size()).second) continue;
    dump_.groups.push_back({.name = short_text(name),
                            .description = short_text(text_in(info, "desc")),
                            .ranks = runs_of(members)});
    members_.push_back(std::move(members));
  }
}

// Returns the group of an entry. "process_group" is (name, description), or only the name in old
// versions. An entry without it belongs to the only group, if there is just one.
std::optional<std::size_t> DumpReader::group_of(const DataValue& entry) const {
  const auto value = entry.find("process_group");
  if (!value && dump_.groups.size() == 1) return 0;
  if (!value) return std::nullopt;
  const bool pair = value->kind() == Kind::kTuple || value->kind() == Kind::kList;
  if (pair && value->size() == 0) return std::nullopt;
  const auto found = by_name_.find(pair ? value->item(0).text() : value->text());
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

bool DumpReader::read_entry(const DataValue& value, Entry& entry) {
  const std::string_view state = text_in(value, "state");
  entry.pending = state == "scheduled" || state == "started";
  entry.operation.started = state == "started";
  const auto group = group_of(value);
  if (!group) return false;
  entry.group = *group;
  entry.number = integer_in(value, "pg_id");
  entry.profile = text_in(value, "profiling_name");
  entry.operation.name = operation_name(entry.profile);
  const bool between_two = entry.operation.name == "send" || entry.operation.name == "recv";
  const auto told = integer_in(value, "is_p2p");
  entry.transfer = told ? *told != 0 : between_two;
  const auto old = integer_in(value, "seq_id");
  entry.collective = integer_in(value, "collective_seq_id").value_or(-1);
  if (entry.collective < 0 && !entry.transfer && old) entry.collective = *old;
  const auto transfers = integer_in(value, "p2p_seq_id");
  entry.sequence = entry.transfer ? transfers.value_or(old.value_or(-1)) : entry.collective;
  entry.mixed = entry.transfer || transfers.value_or(0) > 0;
  entry.operation.group = static_cast<std::uint32_t>(*group);
  entry.operation.sequence = entry.sequence;
  entry.operation.created_ms = integer_in(value, "time_created_ns").value_or(0) / kNsInMs;
  entry.operation.elements_in = elements_of(value, "input_sizes");
  entry.operation.elements_out = elements_of(value, "output_sizes");
  if (entry.transfer) read_peer(entry);
  return entry.sequence >= 0;
}

void DumpReader::read_peer(Entry& entry) const {
  const auto peer = peer_in_group(entry.profile);
  const std::vector<int>& members = members_[entry.group];
  if (peer && static_cast<std::size_t>(*peer) < members.size()) {
    entry.operation.peer = members[static_cast<std::size_t>(*peer)];
  }
}

void DumpReader::note_counters(const Entry& entry) {
  RecordedGroup& group = dump_.groups[entry.group];
  if (entry.mixed) group.point_to_point = true;
  group.seen = std::max(group.seen, entry.collective);
  if (entry.number) by_number_.emplace(*entry.number, entry.group);
}

void DumpReader::read_entries(const DataValue& list) {
  for (std::size_t i = 0; i < list.size() && list.kind() != Kind::kDict; ++i) {
    Entry entry;
    if (!read_entry(list.item(i), entry)) {
      dump_.more_pending = dump_.more_pending || entry.pending;
      continue;
    }
    note_counters(entry);
    entries_.push_back(std::move(entry));
  }
}

// Handles coalesced operations, which are sent to the device as one. Every such operation has its
// own entry, whose state is never updated. A later entry with the same number, named "coalesced",
// has the state of all.
void DumpReader::resolve_coalesced() {
  using Key = std::pair<std::pair<std::size_t, bool>, std::int64_t>;
  std::map<Key, bool> pending;
  const auto key_of = [](const Entry& entry) {
    return Key{{entry.group, entry.transfer}, entry.sequence};
  };
  for (const Entry& entry : entries_) {
    if (entry.operation.name == kCoalesced) pending[key_of(entry)] = entry.pending;
  }
  std::map<Key, bool> has_parts;
  for (Entry& entry : entries_) {
    const auto found = pending.find(key_of(entry));
    if (found == pending.end() || entry.operation.name == kCoalesced) continue;
    has_parts[key_of(entry)] = true;
    entry.pending = found->second;
  }
  for (Entry& entry : entries_) {
    if (entry.operation.name == kCoalesced && has_parts.contains(key_of(entry))) {
      entry.pending = false;
    }
  }
}

// Maps the number of each group in this process to the group. Entries have both name and number.
// For groups without entries the order decides: names and numbers both follow the order of
// creation.
std::map<std::int64_t, std::size_t> DumpReader::numbered_groups(const DataValue& status) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < status.size(); ++i) {
    const auto number = base::parse_count<std::int64_t>(status.key(i).text());
    if (!number) return by_number_;
    numbers.push_back(*number);
  }
  std::vector<std::pair<std::int64_t, std::size_t>> names;
  for (const auto& [name, group] : by_name_) {
    const auto number = base::parse_count<std::int64_t>(name);
    if (!number) return by_number_;
    names.emplace_back(*number, group);
  }
  if (numbers.size() != names.size()) return by_number_;
  std::ranges::sort(numbers);
  std::ranges::sort(names);
  std::map<std::int64_t, std::size_t> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) all.emplace(numbers[i], names[i].second);
  const bool agree = std::ranges::all_of(by_number_, [&all](const auto& known) {
    const auto found = all.find(known.first);
    return found != all.end() && found->second == known.second;
  });
  return agree && all.size() == names.size() ? all : by_number_;
}

void DumpReader::read_status() {
  const auto status = root_.find("pg_status");
  if (!status || status->kind() != Kind::kDict) return;
  const auto groups = numbered_groups(*status);
  dump_.all_groups = true;
  for (std::size_t i = 0; i < status->size(); ++i) {
    const auto number = base::parse_count<std::int64_t>(status->key(i).text());
    const auto found = number ? groups.find(*number) : groups.end();
    if (found == groups.end()) {
      dump_.all_groups = false;
      continue;
    }
    RecordedGroup& group = dump_.groups[found->second];
    const DataValue counters = status->item(i);
    group.enqueued = integer_in(counters, "last_enqueued_collective").value_or(-1);
    group.started = integer_in(counters, "last_started_collective").value_or(-1);
    group.completed = integer_in(counters, "last_completed_collective").value_or(-1);
  }
}

void DumpReader::keep_pending() {
  for (Entry& entry : entries_) {
    if (!entry.pending) continue;
    // Ignores a transfer without its peer, because it does not show for which rank it waits.
    const bool placed = !entry.transfer || entry.operation.peer >= 0;
    if (placed && dump_.pending.size() < RecorderDump::kMaxPending) {
      dump_.pending.push_back(std::move(entry.operation));
    } else {
      dump_.more_pending = true;
    }
  }
}

// Drops groups beyond the limits. Groups with pending operations are kept first.
void DumpReader::bound() {
  std::vector<bool> used(dump_.groups.size());
  for (const PendingOperation& operation : dump_.pending) used[operation.group] = true;
  std::vector<bool> kept(used.size());
  std::size_t groups = 0;
  std::size_t runs = 0;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::size_t size = dump_.groups[i].ranks.size();
      if (used[i] != wanted || groups >= RecorderDump::kMaxGroups) continue;
      if (runs + size > RecorderDump::kMaxRuns) continue;
      kept[i] = true;
      ++groups;
      runs += size;
    }
  }
  if (groups == used.size()) return;
  dump_.all_groups = false;
  std::vector<std::uint32_t> places(used.size());
  std::vector<RecordedGroup> some;
  for (std::size_t i = 0; i < used.size(); ++i) {
    places[i] = static_cast<std::uint32_t>(some.size());
    if (kept[i]) some.push_back(std::move(dump_.groups[i]));
  }
  dump_.groups = std::move(some);
  const std::size_t dropped = std::erase_if(
      dump_.pending, [&kept](const PendingOperation& one) { return !kept[one.group]; });
  if (dropped > 0) dump_.more_pending = true;
  for (PendingOperation& operation : dump_.pending) operation.group = places[operation.group];
}

base::Result<RecorderDump> DumpReader::read() {
  TRY(check_version());
  read_groups();
  const auto entries = root_.find("entries");
  if (dump_.groups.empty() || !entries) {
    return failed(dump_.groups.empty() ? "no group with its ranks in pg_config" : "no entries",
                  "read it with the analyzer of the PyTorch that wrote it");
  }
  read_entries(*entries);
  resolve_coalesced();
  read_status();
  keep_pending();
  bound();
  return std::move(dump_);
}

}  // namespace

base::Result<RecorderDump> read_recorder_dump(std::string_view bytes, int rank,
                                              std::string_view where, std::int64_t written_ms) {
  std::optional<DataTree> tree;
  std::optional<base::json::Document> document;
  if (base::trimmed(bytes.substr(0, 64)).starts_with('{') && bytes.size() <= DataTree::kMaxBytes) {
    auto parsed = base::json::Document::parse(bytes, where);
    if (!parsed) return std::unexpected(std::move(parsed.error().error));
    document = std::move(*parsed);
    tree = DataTree::from_json(*document);
  } else {
    TRY_ASSIGN(tree, DataTree::from_pickle(bytes, where));
  }
  const DataValue root = tree->root();
  TRY_ASSIGN(RecorderDump dump, DumpReader(root, where).read());
  dump.rank = rank;
  dump.written_ms = written_ms;
  return dump;
}

std::vector<int> members_of(const RecordedGroup& group, std::size_t most) {
  std::vector<int> members;
  for (const RankRun& run : group.ranks) {
    for (std::int64_t i = 0; i < run.count && members.size() < most; ++i) {
      const std::int64_t rank = run.first + i * run.step;
      if (rank <= std::numeric_limits<int>::max()) members.push_back(static_cast<int>(rank));
    }
  }
  std::ranges::sort(members);
  return members;
}

}  // namespace envgen
