#include "init/engine/cluster/link_status.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "base/printed_text.h"
#include "base/text.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"
#include "init/sys/unix_socket.h"

namespace engine {
namespace {

constexpr const char* kAsking = "asking for the status of all nodes";
constexpr std::size_t kMaxBytes = 64UL << 20;

base::Result<sys::Fd> connect_to(const std::string& path, int timeout_ms) {
  sys::Fd socket = sys::connect_to(path, SOCK_STREAM, timeout_ms);
  if (socket.valid()) return socket;
  return std::unexpected(
      sys::socket_error(kAsking, path, errno,
                        "jobs of several nodes have a link while they run; run this inside the "
                        "container, as the same user"));
}

// Reads the worker's answer until the empty line at its end. At the time-out, returns the part that
// has arrived.
std::string read_answer(const sys::Fd& socket, int timeout_ms) {
  std::string text;
  std::array<char, 16384> part;
  const std::int64_t deadline_ms = sys::monotonic_ms() + timeout_ms;
  while (text != "\n" && !text.ends_with("\n\n") && text.size() < kMaxBytes) {
    if (!sys::await_ready(socket.get(), POLLIN, deadline_ms)) break;
    const ssize_t count = ::read(socket.get(), part.data(), part.size());
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string age_text(std::int64_t ms) {
  if (ms < 0) return "-";
  constexpr std::int64_t kSecond = 1000;
  constexpr std::int64_t kTenMinutes = 600 * kSecond;
  constexpr std::int64_t kMinute = 60 * kSecond;
  return ms < kTenMinutes ? std::to_string(ms / kSecond) + "s" : std::to_string(ms / kMinute) + "m";
}

}  // namespace

base::Result<std::vector<NodeRow>> ask_nodes(const std::string& socket_path, int timeout_ms) {
  TRY_ASSIGN(const sys::Fd socket, connect_to(socket_path, timeout_ms));
  constexpr std::string_view kQuestion = "nodes\n";
  if (::send(socket.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0) {
    return base::fail(kAsking, socket_path, sys::errno_text(errno), "ask again");
  }
  const std::string answer = read_answer(socket, timeout_ms);
  std::vector<NodeRow> rows;
  std::string_view rest = answer;
  while (!rest.empty()) {
    const std::string_view line = base::take_line(rest);
    if (line.empty()) return rows;
    const auto document = base::json::Document::parse(line, socket_path);
    if (!document) return std::unexpected(document.error().error);
    if (const auto error = document->root().find("error")) {
      return base::fail(kAsking, socket_path, std::string(error->text()),
                        "ask on node 0, or when there is a connection to it");
    }
    base::JsonIn in(document->root());
    NodeRow row;
    fields(in, row);
    TRY(in.finish(kAsking, socket_path, "is the container's trainit of this version?"));
    rows.push_back(std::move(row));
  }
  return base::fail(kAsking, socket_path,
                    "an answer of " + std::to_string(rows.size()) + " nodes that is not complete",
                    "node 0 may be busy, or may not answer: ask again");
}

bool is_present(const NodeRow& row) {
  return row.connection == "connected" || row.connection == "left";
}

bool is_lost(const NodeRow& row) { return row.connection == "lost"; }

bool all_well(const std::vector<NodeRow>& rows) {
  return std::ranges::all_of(
      rows, [](const NodeRow& row) { return row.failure.empty() && is_present(row); });
}

std::string nodes_to_json(const std::vector<NodeRow>& rows) {
  base::json::Writer out;
  out.begin_object().key("nodes").begin_array();
  for (const NodeRow& row : rows) base::write_json(out, row);
  out.end_array().end_object();
  return std::move(out).take();
}

std::string nodes_to_text(const std::vector<NodeRow>& rows) {
  using Row = std::array<std::string, 8>;
  std::vector<Row> table{
      {"node", "name", "link", "heard", "phase", "ranks", "last output", "restarts"}};
  std::string failures;
  for (const NodeRow& row : rows) {
    table.push_back(
        {std::to_string(row.node), row.name.empty() ? "-" : base::escaped_text(row.name),
         row.connection, age_text(row.heard_ms_ago), row.phase.empty() ? "-" : row.phase,
         std::to_string(row.ranks), age_text(row.silent_ms), std::to_string(row.restarts)});
    if (!row.failure.empty()) {
      failures += "node " + std::to_string(row.node) + ": " + row.failure + "\n";
    }
  }
  std::array<std::size_t, 8> widths{};
  for (const Row& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + failures;
}

}  // namespace engine
