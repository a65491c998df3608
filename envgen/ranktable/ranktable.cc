#include "envgen/ranktable/ranktable.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "envgen/ranktable/ranktable_impl.h"

namespace envgen {

struct RankTable::Impl {
  std::string where;
  std::string_view text;  // the input
  TableFormat format = TableFormat::kUnknown;
  std::string not_ready = {};  // why the platform has not completed the table; "": it has
  bool scanned = false;
  // The tree of the whole text, or of a scanned table's super_pod_list, if it has one.
  std::optional<base::json::Document> document = {};
  // The rows of a complete table; those of version 2.0 are in rank_list.
  std::optional<ranktable::Table> table = {};
  std::vector<ranktable::RankListRow> rank_list = {};
  ranktable::Report reading = {};  // findings about the format and about single fields
  // Set by rank().
  std::vector<Node> rank_list_nodes = {};
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

std::string not_ready_reason_of(const base::json::Value& root, TableFormat format) {
  std::optional<base::json::Value> status = root.find("status");
  if (!status) return format == TableFormat::kRankList ? "" : "no status yet";
  if (status->is(base::json::Type::kString) && status->text() == "completed") return "";
  return "status is " + show(*status);
}

// Reads the rows of `document`, which must not move afterwards: the rows refer to it.
void read_tree(RankTable::Impl& impl) {
  const base::json::Value root = impl.document->root();
  Report& report = impl.reading;
  impl.format = detect(root);
  impl.not_ready = not_ready_reason_of(root, impl.format);
  check_status(root, impl.format, impl.not_ready.empty(), report);
  // A table that is not complete may lack its lists.
  if (!impl.not_ready.empty()) return;
  check_format(root, impl.format, report);
  switch (impl.format) {
    case TableFormat::kTemplate1:
    case TableFormat::kTemplate1SuperPod:
      impl.table = ranktable::read_servers(root, impl.format, report);
      break;
    case TableFormat::kTemplate2:
    case TableFormat::kLab:
      impl.table = ranktable::read_groups(root, impl.format, report);
      break;
    case TableFormat::kRankList:
      impl.rank_list = ranktable::read_rank_list(root, report);
      break;
    case TableFormat::kHeterogeneous:
    case TableFormat::kServerGroups:
    case TableFormat::kUnknown:
      break;
  }
}

// Returns the findings of reading the table, and those of several fields together.
Report examine(RankTable::Impl& impl) {
  Report report = impl.reading;
  if (!impl.table) return report;
  const auto root = impl.root();
  const auto super_pods = impl.scanned ? root : root->find("super_pod_list");
  ranktable::check_table(super_pods, *impl.table, report);
  return report;
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
      impl->scanned = true;
      impl->format = scanned->table.format;
      impl->table = std::move(scanned->table);
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
  impl->document = std::move(*document);
  read_tree(*impl);
  return RankTable(std::move(impl));
}

TableFormat RankTable::format() const { return impl_->format; }

std::string RankTable::not_ready_reason() const { return impl_->not_ready; }

std::vector<Finding> RankTable::check() const {
  Report report = examine(*impl_);
  // The findings of rank_list_nodes() belong to the check. If hosts cannot be distinguished, the
  // table is not at fault.
  if (impl_->format == TableFormat::kRankList && !report.refused()) {
    auto nodes = ranktable::rank_list_nodes(impl_->rank_list, report);
    if (!nodes) {
      report.add(Severity::kWarning, "hosts-unknown", [&] { return std::move(nodes.error()); });
    }
  }
  return std::move(report).take();
}

base::Result<RankedTable> RankTable::rank(RankOrder order) && {
  Report report = examine(*impl_);
  if (report.refused()) return refuse(impl_->where, std::move(report).take());
  if (impl_->format == TableFormat::kRankList) {
    auto nodes = ranktable::rank_list_nodes(std::move(impl_->rank_list), report);
    if (!nodes) return refuse(impl_->where, std::move(nodes.error()));
    impl_->rank_list_nodes = std::move(*nodes);
  }
  if (impl_->format == TableFormat::kTemplate2) {
    auto rows = ranktable::rows_in(order, *impl_->table);
    if (!rows) return refuse(impl_->where, std::move(rows.error()));
    for (std::uint32_t rank = 0; rank < rows->size(); ++rank) {
      impl_->table->rows[(*rows)[rank]].rank = rank;
    }
  }
  impl_->warnings = std::move(report).take();
  return RankedTable(std::move(impl_));
}

const std::vector<Finding>& RankedTable::warnings() const { return impl_->warnings; }

std::vector<Node> RankedTable::nodes() const {
  return impl_->table ? ranktable::make_nodes(*impl_->table) : impl_->rank_list_nodes;
}

std::uint64_t RankedTable::device_addresses() const {
  return impl_->table ? ranktable::address_digest(*impl_->table) : 0;
}

base::LazyText RankedTable::text() const {
  if (!impl_->table) return std::string(impl_->text);
  return base::LazyText([impl = impl_](const base::LazyText::Sink& sink) {
    const std::optional<base::json::Value> root = impl->root();
    const base::json::Value* tree = root ? &*root : nullptr;
    base::json::Writer out(sink);
    if (!impl->table->is_template1()) {
      ranktable::write_template1(tree, *impl->table, out);
    } else if (impl->scanned) {
      ranktable::rewrite_scanned(tree, *impl->table, out);
    } else {
      ranktable::rewrite_template1(*root, impl->format, out);
    }
    sink(std::move(out).take());
  });
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
