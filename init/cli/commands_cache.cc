// cache: lists a node's cache of datasets, and removes datasets that are due.

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "init/cli/commands.h"
#include "init/copy/cache/cache.h"
#include "init/copy/cache/cache_entry.h"
#include "init/copy/copy_progress.h"
#include "init/copy/space.h"
#include "init/sys/clock.h"

namespace cli {
namespace {

using copy::CachedDataset;

// The result for the cache of one root.
struct Root {
  std::string path;
  std::uint64_t free_bytes = 0;
  std::vector<CachedDataset> entries;  // entries that exist now
  std::vector<CachedDataset> removed;
  std::vector<CachedDataset> failed;  // due, but not removed
  std::string why;                    // error of the last failed entry
};

bool is_same(const CachedDataset& a, const CachedDataset& b) {
  return a.key == b.key && a.cache == b.cache;
}

bool holds(const std::vector<CachedDataset>& entries, const CachedDataset& wanted) {
  return std::ranges::any_of(
      entries, [&wanted](const CachedDataset& entry) { return is_same(entry, wanted); });
}

const char* state_of(const CachedDataset& entry) {
  if (entry.partial) return entry.in_use ? "copying" : "unfinished";
  return entry.in_use ? "in use" : "unused";
}

std::string state_text(const CachedDataset& entry) {
  std::string text = state_of(entry);
  if (!entry.partial || entry.total_bytes == 0) return text;
  const copy::CopyProgress progress = {.phase = {},
                                       .entries = entry.entries,
                                       .bytes = entry.bytes,
                                       .total_entries = entry.entries,
                                       .total_bytes = entry.total_bytes};
  return text + " " + std::to_string(percent_done(progress)) + "%";
}

std::string age_of(const CachedDataset& entry) {
  return copy::time_text(std::max<std::int64_t>(sys::wall_ms() - entry.used_ms, 0)) + " ago";
}

using Row = std::array<std::string, 6>;

base::ShownLines table_of(const std::vector<CachedDataset>& entries) {
  std::vector<Row> rows = {{"DATASET", "SIZE", "ENTRIES", "LAST USE", "STATE", "SOURCE"}};
  rows.reserve(entries.size() + 1);
  for (const CachedDataset& entry : entries) {
    rows.push_back({entry.key, base::size_text(entry.bytes), std::to_string(entry.entries),
                    age_of(entry), state_text(entry), entry.source.empty() ? "?" : entry.source});
  }
  Row::size_type column = 0;
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (column = 0; column < row.size(); ++column) {
      widths.at(column) = std::max(widths.at(column), row.at(column).size());
    }
  }
  base::ShownLines lines;
  for (const Row& row : rows) {
    std::string text;
    for (column = 0; column + 1 < row.size(); ++column) {
      text += row.at(column) + std::string(widths.at(column) - row.at(column).size() + 2, ' ');
    }
    lines.add({text, row.back()});
  }
  return lines;
}

base::ShownLines listed(const Root& root) {
  std::uint64_t bytes = 0;
  for (const CachedDataset& entry : root.entries) bytes = copy::sum(bytes, entry.bytes);
  base::ShownLines lines;
  if (!root.entries.empty()) lines.add(table_of(root.entries));
  lines.add({root.path, ": ", std::to_string(root.entries.size()),
             root.entries.size() == 1 ? " dataset, " : " datasets, ", base::size_text(bytes), "; ",
             base::size_text(root.free_bytes), " free"});
  return lines;
}

base::ShownLines collected(const Root& root, bool dry_run) {
  base::ShownLines lines;
  const auto line = [&](const char* what, const CachedDataset& entry, const std::string& why) {
    lines.add({what, " ", entry.key, ", ", base::size_text(entry.bytes), ": ", why});
  };
  for (const CachedDataset& entry : root.removed) {
    line(dry_run ? "would remove" : "removed", entry, "last used " + age_of(entry));
  }
  for (const CachedDataset& entry : root.failed) {
    line("could not remove", entry, root.why);
  }
  for (const CachedDataset& entry : root.entries) {
    if (holds(root.removed, entry) || holds(root.failed, entry)) continue;
    line("kept", entry,
         entry.in_use ? entry.partial ? "it is being copied" : "a job uses it"
                      : "last used " + age_of(entry));
  }
  lines.add({root.path, ": ", base::size_text(root.free_bytes), " free"});
  return lines;
}

void write_entries(base::json::Writer& out, const char* key,
                   const std::vector<CachedDataset>& entries) {
  out.key(key).begin_array();
  for (const CachedDataset& entry : entries) {
    out.begin_object();
    out.key("key").string(entry.key);
    out.key("source").string(entry.source);
    out.key("entries").integer(static_cast<std::int64_t>(entry.entries));
    out.key("bytes").integer(static_cast<std::int64_t>(entry.bytes));
    if (entry.partial) {
      out.key("total_bytes").integer(static_cast<std::int64_t>(entry.total_bytes));
    }
    out.key("used").string(sys::utc_text(entry.used_ms));
    out.key("state").string(state_of(entry));
    out.end_object();
  }
  out.end_array();
}

std::string to_json(const std::vector<Root>& roots, bool collecting) {
  base::json::Writer out;
  out.begin_array();
  for (const Root& root : roots) {
    out.begin_object();
    out.key("root").string(root.path);
    out.key("free_bytes").integer(static_cast<std::int64_t>(root.free_bytes));
    write_entries(out, "datasets", root.entries);
    if (collecting) write_entries(out, "removed", root.removed);
    if (collecting) write_entries(out, "failed", root.failed);
    out.end_object();
  }
  out.end_array();
  return std::move(out).take();
}

base::Result<Root> visit(const std::string& path, const envgen::DataRequest& request,
                         bool collecting, bool dry_run) {
  Root root{.path = path, .entries = {}, .removed = {}, .failed = {}, .why = {}};
  auto space = copy::space_of(path, request.headroom);
  if (!space) return std::unexpected(space.error());
  if (collecting) {
    const copy::CacheLimits limits = {
        .now_ms = sys::wall_ms(),
        .ttl_ms = request.cache_ttl_ms,
        .max_bytes = static_cast<std::uint64_t>(request.cache_max_bytes),
        .free_bytes = space->available_bytes,
        .want_free = space->headroom};
    TRY_ASSIGN(auto collected, copy::collect_garbage(path, limits, dry_run));
    root.removed = std::move(collected.removed);
    root.failed = std::move(collected.failed);
    if (!root.failed.empty()) root.why = to_line(collected.error);
  }
  TRY_ASSIGN(root.entries, copy::list_cache(path));
  // Another process may have removed the entry.
  std::erase_if(root.failed,
                [&root](const CachedDataset& due) { return !holds(root.entries, due); });
  space = copy::space_of(path, request.headroom);
  if (space) root.free_bytes = space->available_bytes;
  return root;
}

}  // namespace

int cache_command(Call& call) {
  const Options& options = call.options;
  const bool collecting = options.command == kCacheGc;
  const envgen::DataRequest& request = options.request.data;
  if (!request.root.empty()) {
    const auto root = copy::choose_root(request.root, 0, request.headroom);
    if (!root) return complain(root.error());
  }
  std::vector<Root> roots;
  base::ShownLines lines;
  bool failed = false;
  for (const std::string& path : copy::data_roots(request.root)) {
    auto root = visit(path, request, collecting, options.dry_run);
    if (!root) {
      complain(root.error());
      failed = true;
      continue;
    }
    failed = failed || !root->failed.empty();
    lines.add(collecting ? collected(*root, options.dry_run) : listed(*root));
    roots.push_back(std::move(*root));
  }
  if (roots.empty() && !failed) {
    const auto none = copy::choose_root("", 0, request.headroom);
    if (!none) return complain(none.error());
  }
  const int printed = options.json ? print_as_is(to_json(roots, collecting)) : print(lines);
  return printed != 0 ? printed : failed ? 1 : 0;
}

}  // namespace cli
