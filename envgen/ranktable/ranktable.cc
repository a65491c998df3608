#include "envgen/ranktable/ranktable.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "envgen/ranktable/ranktable_impl.h"

namespace envgen {

struct RankTable::Impl {
  std::string where;
  std::string_view text;
  TableFormat format = TableFormat::kUnknown;
  // Either a table that was scanned, with a tree only of its super_pod_list, or the tree of the
  // whole text.
  std::optional<ranktable::Table> scanned = {};
  std::optional<base::json::Document> document = {};
  // The order in which the scanned table has got its ranks; nullopt: none yet.
  std::optional<RankOrder> ranked = {};
  std::vector<Finding> warnings = {};

  [[nodiscard]] std::optional<base::json::Value> root() const {
    return document ? std::optional(document->root()) : std::nullopt;
  }
};

using ranktable::Details;
using ranktable::Report;
using ranktable::show;
using ranktable::Table;
using Severity = Finding::Severity;

namespace {

constexpr std::string_view kConverting = "converting the rank table";

// Returns the format. A version that is a number is an error, but shows the format nevertheless.
TableFormat detect(const base::json::Value& root) {
  if (root.find("server_group_list")) return TableFormat::kServerGroups;
  std::optional<base::json::Value> version = root.find("version");
  if (!version) {
    if (!root.find("group_list")) return TableFormat::kUnknown;
    return root.find("deploy_mode") ? TableFormat::kLab : TableFormat::kTemplate2;
  }
  static constexpr std::array<std::pair<std::string_view, TableFormat>, 4> kVersions = {{
      {"1.0", TableFormat::kTemplate1},
      {"1.1", TableFormat::kHeterogeneous},
      {"1.2", TableFormat::kTemplate1SuperPod},
      {"2.0", TableFormat::kRankList},
  }};
  auto found = std::ranges::find(kVersions, version->text(),
                                 &std::pair<std::string_view, TableFormat>::first);
  return found == kVersions.end() ? TableFormat::kUnknown : found->second;
}

Details unknown_format(const base::json::Value& root) {
  if (auto version = root.find("version")) {
    return {.place = "version",
            .found = "version " + show(*version),
            .fix = "HCCL knows \"1.0\", \"1.2\" and \"2.0\", and no version with a group_list"};
  }
  if (root.find("server_list")) {
    return {.place = "version",
            .found = "a server_list without a version",
            .fix = "add \"version\": \"1.0\", or \"1.2\" for an A3 table with super pods"};
  }
  if (root.find("rank_list")) {
    return {.place = "version",
            .found = "a rank_list without a version",
            .fix = "add \"version\": \"2.0\""};
  }
  return {.place = "group_list",
          .found = "no group_list, server_list or rank_list",
          .fix = "the table lists no devices: name the right file, or have it filled"};
}

void check_format(const base::json::Value& root, TableFormat format, Report& report) {
  if (format == TableFormat::kUnknown) {
    report.add(Severity::kRefused, root.find("version") ? "version-unknown" : "format-unknown",
               [&] { return unknown_format(root); });
  }
  if (format == TableFormat::kHeterogeneous) {
    report.add(Severity::kRefused, "format-unsupported", [] {
      return Details{.place = "version",
                     .found = "version \"1.1\", which HCCL reads as a heterogeneous table",
                     .fix = "if this is a template 1 of Ascend servers, write \"1.0\""};
    });
  }
  if (format == TableFormat::kServerGroups) {
    report.add(Severity::kRefused, "format-unsupported", [] {
      return Details{.place = "server_group_list",
                     .found = "MindIE's global table, which HCCL does not read",
                     .fix =
                         "use the table of one server group: version, server_count, "
                         "server_list and status"};
    });
  }
}

void check_status(const base::json::Value& root, TableFormat format, bool ready, Report& report) {
  std::optional<base::json::Value> status = root.find("status");
  if (!ready) {
    report.add(Severity::kRefused, status ? "status-not-completed" : "status-missing", [&] {
      return Details{.place = "status",
                     .found = status ? show(*status) : "no status",
                     .fix = "HCCL waits until the platform writes \"completed\""};
    });
  }
  std::optional<base::json::Value> version = root.find("version");
  if (version && !version->is(base::json::Type::kString) && format != TableFormat::kUnknown) {
    bool mended = format == TableFormat::kTemplate1 || format == TableFormat::kTemplate1SuperPod;
    report.add(mended ? Severity::kRepaired : Severity::kRefused, "version-not-a-string", [&] {
      return Details{.place = "version",
                     .found = "the number " + show(*version),
                     .fix = "write it as a string"};
    });
  }
}

struct Analysis {
  std::unique_ptr<Table> read;  // a table that was read through the tree
  Table* table = nullptr;       // points to `read` or to the scanned table
  std::vector<ranktable::RankListRow> rank_list;
};

Analysis analyze(const base::json::Value& root, TableFormat format, bool ready, Report& report) {
  Analysis analysis;
  check_status(root, format, ready, report);
  // A table that is not complete may lack its lists.
  if (!ready) return analysis;
  check_format(root, format, report);
  switch (format) {
    case TableFormat::kTemplate1:
    case TableFormat::kTemplate1SuperPod:
      analysis.read = std::make_unique<Table>(ranktable::read_servers(root, format, report));
      break;
    case TableFormat::kTemplate2:
    case TableFormat::kLab:
      analysis.read = std::make_unique<Table>(ranktable::read_groups(root, format, report));
      break;
    case TableFormat::kRankList:
      analysis.rank_list = ranktable::read_rank_list(root, report);
      return analysis;
    case TableFormat::kHeterogeneous:
    case TableFormat::kServerGroups:
    case TableFormat::kUnknown:
      return analysis;
  }
  analysis.table = analysis.read.get();
  ranktable::check_table(root.find("super_pod_list"), *analysis.table, report);
  return analysis;
}

std::unexpected<base::Error> refuse(const std::string& where, Details details) {
  return base::fail(kConverting, where + ": " + details.place, std::move(details.found),
                    std::move(details.fix));
}

std::unexpected<base::Error> refuse(const std::string& where,
                                    const std::vector<Finding>& findings) {
  const Finding& first = *std::ranges::find_if(findings, is_refused);
  auto more = std::ranges::count_if(findings, is_refused) - 1;
  std::string fix = first.fix;
  if (more > 0) fix += " (and " + std::to_string(more) + " more: trainit ranktable check)";
  return refuse(where, {.place = first.place, .found = first.found, .fix = std::move(fix)});
}

}  // namespace

std::string_view format_name(TableFormat format) {
  switch (format) {
    case TableFormat::kTemplate1:
      return "template 1 (version 1.0)";
    case TableFormat::kTemplate1SuperPod:
      return "template 1 with super pods (version 1.2)";
    case TableFormat::kHeterogeneous:
      return "heterogeneous (version 1.1)";
    case TableFormat::kRankList:
      return "rank list (version 2.0)";
    case TableFormat::kTemplate2:
      return "template 2";
    case TableFormat::kLab:
      return "lab template";
    case TableFormat::kServerGroups:
      return "MindIE server groups";
    case TableFormat::kUnknown:
      return "unknown format";
  }
  return "unknown format";
}

RankTable::RankTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RankTable::RankTable(RankTable&&) noexcept = default;
RankTable& RankTable::operator=(RankTable&&) noexcept = default;
RankTable::~RankTable() = default;

std::expected<RankTable, base::json::ParseError> RankTable::parse(std::string_view text,
                                                                  std::string_view where) {
  auto impl = std::make_unique<Impl>(Impl{.where = std::string(where), .text = text});
  if (auto scanned = ranktable::scan_table(text)) {
    auto super_pods = base::json::Document::parse(scanned->super_pods, where);
    const bool none = scanned->super_pods.empty();
    if (none || super_pods) {
      impl->format = scanned->table.format;
      impl->scanned = std::move(scanned->table);
      if (!none) impl->document = std::move(*super_pods);
      return RankTable(std::move(impl));
    }
  }
  auto document = base::json::Document::parse(text, where);
  if (!document) {
    document.error().error.what = "reading the rank table";
    return std::unexpected(std::move(document.error()));
  }
  base::json::Type type = document->root().type();
  if (type != base::json::Type::kObject) {
    return std::unexpected(base::json::ParseError{
        .error = {.what = "reading the rank table",
                  .where = std::string(where),
                  .found = std::string(base::json::type_name(type)) + " instead of an object",
                  .fix = "a rank table is {\"status\": ..., ...}: name the right file"}});
  }
  impl->format = detect(document->root());
  impl->document = std::move(*document);
  return RankTable(std::move(impl));
}

TableFormat RankTable::format() const { return impl_->format; }

std::string RankTable::not_ready_reason() const {
  if (impl_->scanned) return "";
  std::optional<base::json::Value> status = impl_->root()->find("status");
  if (!status) return impl_->format == TableFormat::kRankList ? "" : "no status yet";
  if (status->is(base::json::Type::kString) && status->text() == "completed") return "";
  return "status is " + show(*status);
}

struct RankTable::Ranked {
  Analysis analysis;
  std::vector<Node> nodes;  // only for version 2.0
};

namespace {

// Checks a scanned table, whose numbers were already read. Each call checks it again.
Analysis analyze(RankTable::Impl& impl, bool ready, Report& report) {
  if (!impl.scanned) return analyze(*impl.root(), impl.format, ready, report);
  ranktable::check_table(impl.root(), *impl.scanned, report);
  return {.read = nullptr, .table = &*impl.scanned, .rank_list = {}};
}

// Sets the ranks of a template 2's devices.
base::Status rank_rows(const std::string& where, RankOrder order, Table& table) {
  if (table.format != TableFormat::kTemplate2) return {};
  std::vector<std::uint32_t> rows;
  if (order == RankOrder::kServerId) {
    rows = ranktable::server_id_order(table);
  } else {
    auto by_index = ranktable::pod_index_order(table);
    if (!by_index) return refuse(where, std::move(by_index.error()));
    rows = std::move(*by_index);
  }
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) table.rows[rows[rank]].rank = rank;
  return {};
}

}  // namespace

void RankTable::take_nodes(Ranked ranked, ConvertedTable& into) {
  const Table* table = ranked.analysis.table;
  into.nodes = table == nullptr ? std::move(ranked.nodes) : ranktable::make_nodes(*table);
  into.device_addresses = table == nullptr ? 0 : ranktable::address_digest(*table);
}

void RankTable::write(const Ranked& ranked, const base::json::Sink& sink) const {
  const Table* table = ranked.analysis.table;
  if (table == nullptr) return sink(impl_->text);
  const std::optional<base::json::Value> root = impl_->root();
  const base::json::Value* tree = root ? &*root : nullptr;
  base::json::Writer out(sink);
  if (!table->is_template1()) {
    ranktable::write_template1(tree, *table, out);
  } else if (impl_->scanned) {
    ranktable::rewrite_scanned(tree, *table, out);
  } else {
    ranktable::rewrite_template1(*root, table->format, out);
  }
  sink(std::move(out).take());
}

std::vector<Finding> RankTable::check() const {
  Report report;
  Analysis analysis = analyze(*impl_, not_ready_reason().empty(), report);
  // The findings of rank_list_nodes() belong to the check. If hosts cannot be distinguished, the
  // table is not at fault.
  if (impl_->format == TableFormat::kRankList && !report.refused()) {
    auto nodes = ranktable::rank_list_nodes(std::move(analysis.rank_list), report);
    if (!nodes) {
      report.add(Severity::kWarning, "hosts-unknown", [&] { return std::move(nodes.error()); });
    }
  }
  return std::move(report).take();
}

base::Result<RankTable::Ranked> RankTable::rank(RankOrder order,
                                                std::vector<Finding>& warnings) const {
  if (impl_->ranked == order) {
    warnings = impl_->warnings;
    return Ranked{.analysis = {.read = nullptr, .table = &*impl_->scanned, .rank_list = {}},
                  .nodes = {}};
  }
  Report report;
  Ranked ranked{.analysis = analyze(*impl_, not_ready_reason().empty(), report), .nodes = {}};
  if (report.refused()) return refuse(impl_->where, std::move(report).take());
  if (impl_->format == TableFormat::kRankList) {
    auto nodes = ranktable::rank_list_nodes(std::move(ranked.analysis.rank_list), report);
    if (!nodes) return refuse(impl_->where, std::move(nodes.error()));
    ranked.nodes = std::move(*nodes);
  } else {
    TRY(rank_rows(impl_->where, order, *ranked.analysis.table));
  }
  warnings = std::move(report).take();
  if (impl_->scanned) {
    impl_->ranked = order;
    impl_->warnings = warnings;
  }
  return ranked;
}

base::Result<ConvertedTable> RankTable::convert_nodes(RankOrder order) const {
  ConvertedTable converted;
  TRY_ASSIGN(auto ranked, rank(order, converted.warnings));
  take_nodes(std::move(ranked), converted);
  return converted;
}

base::Result<ConvertedTable> RankTable::convert(RankOrder order) const {
  ConvertedTable converted;
  TRY_ASSIGN(auto ranked, rank(order, converted.warnings));
  write(ranked, [&](std::string_view piece) { converted.text += piece; });
  take_nodes(std::move(ranked), converted);
  return converted;
}

base::Result<std::vector<Finding>> RankTable::warnings(RankOrder order) const {
  std::vector<Finding> warnings;
  if (auto ranked = rank(order, warnings); !ranked) return std::unexpected(ranked.error());
  return warnings;
}

base::Status RankTable::write(RankOrder order, const base::json::Sink& sink) const {
  std::vector<Finding> warnings;
  TRY_ASSIGN(auto ranked, rank(order, warnings));
  write(ranked, sink);
  return {};
}

base::LazyText text_of(std::shared_ptr<const RankTable> table, RankOrder order) {
  base::LazyText text([table, order](const base::LazyText::Sink& sink) {
    std::ignore = table->write(order, sink);  // cannot fail, because the table was already
                                              // converted in this order
  });
  // The text of version 2.0 is the input, which may be freed earlier, so it is copied.
  if (table->format() == TableFormat::kRankList) return text.text();
  return text;
}

std::vector<Finding> check_device_groups(const std::vector<Node>& nodes) {
  std::vector<const Node*> used;
  std::vector<std::string_view> servers;
  for (const Node& node : nodes) {
    if (node.devices.empty()) continue;
    used.push_back(&node);
    servers.emplace_back(node.server_id);
  }
  const std::vector<std::uint32_t> order = ranktable::by_text(servers);
  auto same = [&](std::uint32_t a, std::uint32_t b) { return servers[a] == servers[b]; };
  const bool several = std::ranges::adjacent_find(order, std::not_fn(same)) != order.end();
  Report report;
  auto warn = [&report](std::string_view rule, std::string_view server, std::string found,
                        std::string_view fix) {
    report.add(Severity::kWarning, rule, [&] {
      return Details{
          .place = "server " + show(server), .found = std::move(found), .fix = std::string(fix)};
    });
  };
  std::vector<int> devices;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string_view server = servers[order[i]];
    for (const Device& device : used[order[i]]->devices) devices.push_back(device.physical_id);
    // Two pods can be on one machine, so their devices are counted together.
    if (i + 1 < order.size() && same(order[i], order[i + 1])) continue;
    std::size_t count = devices.size();
    std::string number = std::to_string(count) + (count == 1 ? " device" : " devices");
    if (several && count % 8 != 0) {
      warn("device-count-across", server, number + " in a job across machines",
           "the MindSpore document allows 8 devices of each machine");
    } else if (!several && count != 1 && count != 2 && count != 4 && count % 8 != 0) {
      warn("device-count", server, number, "the MindSpore document allows 1, 2, 4 or 8 devices");
    }
    auto [low, high] = std::ranges::minmax(devices);
    if ((count == 2 || count == 4) && low / 4 != high / 4) {
      warn("device-group", server,
           number + " from " + std::to_string(low) + " to " + std::to_string(high),
           "take them from one of the groups 0-3 and 4-7, whose devices are linked");
    }
    devices.clear();
  }
  return std::move(report).take();
}

}  // namespace envgen
