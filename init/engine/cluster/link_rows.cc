#include "init/engine/cluster/link_rows.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/constants/words.h"
#include "base/json_fields.h"
#include "base/printed_text.h"
#include "init/engine/cluster/link_status.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

std::string_view name_of(lifecycle::Coordinator::Presence presence) {
  static constexpr auto kNames =
      base::words("never-connected", "connected", "reconnecting", "lost", "left");
  return kNames[static_cast<std::size_t>(presence)];
}

// Returns the word for NodeRow::presence.
std::string_view earlier_name_of(lifecycle::Coordinator::Presence presence) {
  static constexpr auto kNames = base::words("never", "here", "away", "lost", "gone");
  return kNames[static_cast<std::size_t>(presence)];
}

NodeRow row_of(const LinkSettings& settings, const lifecycle::Coordinator& coordinator,
               const SilentMs& silent_ms, std::uint32_t node, std::int64_t now_ms) {
  using Presence = lifecycle::Coordinator::Presence;
  NodeRow row;
  row.node = node;
  if (node < settings.names.size()) row.name = settings.names[node];
  const Presence presence = coordinator.presence(node);
  row.connection = name_of(presence);
  row.presence = earlier_name_of(presence);
  if (presence == Presence::kNeverConnected) return row;
  const lifecycle::NodeReport& report = coordinator.report_of(node);
  row.phase = base::escaped_text(report.phase);
  row.ranks = report.ranks;
  row.silent_ms = silent_ms(node);
  row.restarts = report.restarts;
  row.heard_ms_ago = node == settings.node ? 0 : now_ms - coordinator.last_heard(node);
  if (report.failure) row.failure = base::escaped_text(report.failure->message);
  return row;
}

}  // namespace

std::int64_t silent_ms(const LinkSettings& settings) {
  const std::int64_t last_ms = settings.last_output_ms ? settings.last_output_ms->load() : 0;
  return last_ms == 0 ? -1 : std::max<std::int64_t>(sys::monotonic_ms() - last_ms, 0);
}

LinkRows rows_of_nodes(const LinkSettings& settings, const lifecycle::Coordinator& coordinator,
                       const SilentMs& silent_ms, std::uint32_t from, std::int64_t now_ms) {
  // More rows are left for the next frame; the last row may be as large again.
  constexpr std::size_t kEnoughBytes = 8192;
  LinkRows rows;
  for (std::uint32_t node = from; node < settings.node_count; ++node) {
    if (rows.text.size() > kEnoughBytes) {
      rows.next = node;
      break;
    }
    base::json::Writer out(false);
    base::write_json(out, row_of(settings, coordinator, silent_ms, node, now_ms));
    rows.text += std::move(out).take() + "\n";
  }
  return rows;
}

}  // namespace engine
