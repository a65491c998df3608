#include "envgen/ranktable/ranktable.h"

#include <algorithm>
#include <map>
#include <utility>

#include "envgen/ranktable/ranktable_impl.h"

namespace envgen {

using ranktable::Details;
using ranktable::Report;
using ranktable::show;
using ranktable::Table;
using Severity = Finding::Severity;

namespace {

constexpr std::string_view kConverting = "converting the rank table";

// A version given as a number is wrong, but tells the format all the same.
TableFormat detect(const json::Value& root) {
  if (root.find("server_group_list")) return TableFormat::kServerGroups;
  std::optional<json::Value> version = root.find("version");
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

Details unknown_format(const json::Value& root) {
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

void check_format(const json::Value& root, TableFormat format, Report& report) {
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

void check_status(const json::Value& root, TableFormat format, bool ready, Report& report) {
  std::optional<json::Value> status = root.find("status");
  if (!ready) {
    report.add(Severity::kRefused, status ? "status-not-completed" : "status-missing", [&] {
      return Details{.place = "status",
                     .found = status ? show(*status) : "no status",
                     .fix = "HCCL waits until the platform writes \"completed\""};
    });
  }
  std::optional<json::Value> version = root.find("version");
  if (version && !version->is(json::Type::kString) && format != TableFormat::kUnknown) {
    bool mended = format == TableFormat::kTemplate1 || format == TableFormat::kTemplate1SuperPod;
    report.add(mended ? Severity::kRepaired : Severity::kRefused, "version-not-a-string", [&] {
      return Details{.place = "version",
                     .found = "the number " + show(*version),
                     .fix = "write it as a string"};
    });
  }
}

struct Analysis {
  Table table;
  std::vector<ranktable::RankListRow> rank_list;
};

Analysis analyze(const json::Value& root, TableFormat format, bool ready, Report& report) {
  Analysis analysis;
  check_status(root, format, ready, report);
  // What is not complete yet need not have its lists yet.
  if (!ready) return analysis;
  check_format(root, format, report);
  switch (format) {
    case TableFormat::kTemplate1:
    case TableFormat::kTemplate1SuperPod:
      analysis.table = ranktable::read_servers(root, format, report);
      break;
    case TableFormat::kTemplate2:
    case TableFormat::kLab:
      analysis.table = ranktable::read_groups(root, format, report);
      break;
    case TableFormat::kRankList:
      analysis.rank_list = ranktable::read_rank_list(root, report);
      return analysis;
    case TableFormat::kHeterogeneous:
    case TableFormat::kServerGroups:
    case TableFormat::kUnknown:
      return analysis;
  }
  ranktable::check_table(root, analysis.table, report);
  return analysis;
}

std::unexpected<Error> refuse(const std::string& where, Details details) {
  return fail(std::string(kConverting), where + ": " + details.place, std::move(details.found),
              std::move(details.fix));
}

std::unexpected<Error> refuse(const std::string& where, const std::vector<Finding>& findings) {
  auto is_refusal = [](const Finding& finding) { return finding.severity == Severity::kRefused; };
  const Finding& first = *std::ranges::find_if(findings, is_refusal);
  auto more = std::ranges::count_if(findings, is_refusal) - 1;
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

std::string to_line(const Finding& finding) {
  std::string line;
  switch (finding.severity) {
    case Severity::kRefused:
      line = "refused";
      break;
    case Severity::kRepaired:
      line = "repaired";
      break;
    case Severity::kWarning:
      line = "warning";
      break;
  }
  line += " [" + finding.rule + "]: " + finding.place + ": " + finding.found;
  if (!finding.fix.empty()) line += "; " + finding.fix;
  return line;
}

RankTable::RankTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RankTable::RankTable(RankTable&&) noexcept = default;
RankTable& RankTable::operator=(RankTable&&) noexcept = default;
RankTable::~RankTable() = default;

std::expected<RankTable, json::ParseError> RankTable::parse(std::string_view text,
                                                            std::string_view where) {
  auto document = json::Document::parse(text, where);
  if (!document) {
    document.error().error.what = "reading the rank table";
    return std::unexpected(std::move(document.error()));
  }
  json::Type type = document->root().type();
  if (type != json::Type::kObject) {
    return std::unexpected(json::ParseError{
        .error = {.what = "reading the rank table",
                  .where = std::string(where),
                  .found = std::string(json::type_name(type)) + " instead of an object",
                  .fix = "a rank table is {\"status\": ..., ...}: name the right file"}});
  }
  TableFormat format = detect(document->root());
  auto impl = std::make_unique<Impl>(
      Impl{.document = std::move(*document),
           .format = format,
           .where = std::string(where),
           .text = format == TableFormat::kRankList ? std::string(text) : std::string()});
  return RankTable(std::move(impl));
}

TableFormat RankTable::format() const { return impl_->format; }

std::string RankTable::not_ready_reason() const {
  std::optional<json::Value> status = impl_->document.root().find("status");
  if (!status) return impl_->format == TableFormat::kRankList ? "" : "no status yet";
  if (status->is(json::Type::kString) && status->text() == "completed") return "";
  return "status is " + show(*status);
}

std::vector<Finding> RankTable::check() const {
  Report report;
  json::Value root = impl_->document.root();
  Analysis analysis = analyze(root, impl_->format, not_ready_reason().empty(), report);
  // Its warnings are the check's, too; hosts that cannot be told apart are no fault of the table.
  if (impl_->format == TableFormat::kRankList && !report.refused()) {
    auto nodes = ranktable::rank_list_nodes(std::move(analysis.rank_list), report);
    if (!nodes) {
      report.add(Severity::kWarning, "hosts-unknown", [&] { return std::move(nodes.error()); });
    }
  }
  return std::move(report).take();
}

Result<ConvertedTable> RankTable::convert(RankOrder order) const {
  Report report;
  json::Value root = impl_->document.root();
  Analysis analysis = analyze(root, impl_->format, not_ready_reason().empty(), report);
  if (report.refused()) return refuse(impl_->where, std::move(report).take());
  if (impl_->format == TableFormat::kRankList) {
    auto nodes = ranktable::rank_list_nodes(std::move(analysis.rank_list), report);
    if (!nodes) return refuse(impl_->where, std::move(nodes.error()));
    return ConvertedTable{
        .nodes = std::move(*nodes), .text = impl_->text, .warnings = std::move(report).take()};
  }
  Table& table = analysis.table;
  if (table.format == TableFormat::kTemplate2) {
    std::vector<std::uint32_t> rows;
    if (order == RankOrder::kServerId) {
      rows = ranktable::server_id_order(table);
    } else {
      auto by_index = ranktable::pod_index_order(table);
      if (!by_index) return refuse(impl_->where, std::move(by_index.error()));
      rows = std::move(*by_index);
    }
    for (std::uint32_t rank = 0; rank < rows.size(); ++rank) table.rows[rows[rank]].rank = rank;
  }
  return ConvertedTable{.nodes = ranktable::make_nodes(table),
                        .text = ranktable::write_template1(root, table),
                        .warnings = std::move(report).take()};
}

std::vector<Finding> check_device_groups(const std::vector<Node>& nodes) {
  std::map<std::string_view, std::vector<int>> servers;  // two pods may share a machine
  for (const Node& node : nodes) {
    for (const Device& device : node.devices) servers[node.server_id].push_back(device.physical_id);
  }
  Report report;
  auto warn = [&report](std::string_view rule, std::string_view server, std::string found,
                        std::string_view fix) {
    report.add(Severity::kWarning, rule, [&] {
      return Details{
          .place = "server " + show(server), .found = std::move(found), .fix = std::string(fix)};
    });
  };
  for (const auto& [server, devices] : servers) {
    std::size_t count = devices.size();
    std::string number = std::to_string(count) + (count == 1 ? " device" : " devices");
    if (servers.size() > 1 && count % 8 != 0) {
      warn("device-count-across", server, number + " in a job across machines",
           "the MindSpore document allows 8 devices of each machine");
    } else if (servers.size() == 1 && count != 1 && count != 2 && count != 4 && count % 8 != 0) {
      warn("device-count", server, number, "the MindSpore document allows 1, 2, 4 or 8 devices");
    }
    auto [low, high] = std::ranges::minmax(devices);
    if ((count == 2 || count == 4) && low / 4 != high / 4) {
      warn("device-group", server,
           number + " from " + std::to_string(low) + " to " + std::to_string(high),
           "take them from one of the groups 0-3 and 4-7, whose devices are linked");
    }
  }
  return std::move(report).take();
}

}  // namespace envgen
