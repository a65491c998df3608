#include "envgen/platform/table_location.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "envgen/platform/platform_common.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading the rank table";

// Returns whether a path that cannot be read may become readable soon: a remount, a stale NFS
// handle, a FUSE mount that is starting.
bool may_pass(int error) {
  switch (error) {
    case EIO:
    case ESTALE:
    case EAGAIN:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case EREMOTEIO:
      return true;
    default:
      return false;
  }
}

std::string fix_for(int error) {
  switch (error) {
    case EFBIG:
      return "a rank table has a few hundred bytes a device; is this the right file?";
    case ELOOP:
      return "the links lead in a circle; mount the table itself";
    case EACCES:
    case EPERM:
      return "let this user read it";
    default:
      return "name a regular file";
  }
}

std::string describe(const PathState& state) {
  switch (state.kind) {
    case PathState::Kind::kAbsent:
      return "it does not exist";
    case PathState::Kind::kDirectory:
      return "a directory";
    case PathState::Kind::kError:
      if (state.error == EFBIG) {
        return std::to_string(state.size_bytes >> 20) + " MiB; at most " +
               std::to_string(kMaxInputBytes >> 20) + " MiB are read";
      }
      if (state.error == EINVAL) return "no regular file";
      return std::strerror(state.error);
    case PathState::Kind::kFile:
      break;
  }
  return "a file";
}

base::Result<std::optional<int>> rank_start_of(const Inputs& inputs) {
  if (inputs.request().rank_start) return inputs.request().rank_start;
  std::string_view text = inputs.variable("RANK_START");
  if (text.empty()) return std::nullopt;
  const auto value = base::parse_count<int>(text);
  if (value) return value;
  return base::fail("finding this node", "RANK_START", base::quoted(text),
                    "set it to the rank of this node's first device");
}

// Returns the answer for a path that is not a regular file: a wait, or an error.
Location without_file(const PathState& state, Wait wait) {
  const bool later = state.kind == PathState::Kind::kAbsent ||
                     (state.kind == PathState::Kind::kError && may_pass(state.error));
  wait.why = describe(state);
  if (later) return NotYet{std::move(wait)};
  return base::Error{kReading, wait.path, wait.why, fix_for(state.error)};
}

}  // namespace

bool TableMemo::holds(std::string_view content, RankOrder wanted) const {
  return nodes && text.data() == content.data() && text.size() == content.size() && order == wanted;
}

void TableMemo::take_back(std::vector<Node>&& lent) {
  if (!rank_table.empty() && !nodes) nodes = std::move(lent);
}

base::Result<std::vector<std::string>> table_warnings(const std::vector<Finding>& findings,
                                                      const std::vector<Node>& nodes,
                                                      const Request& request,
                                                      const std::string& where) {
  std::vector<std::string> warnings;
  warnings.reserve(findings.size());
  for (const Finding& finding : findings) {
    warnings.push_back(where + ": " + to_line(finding));
  }
  for (const Finding& finding : check_device_groups(nodes)) {
    if (request.strict) {
      return base::fail("checking the device groups (--strict)", where + ": " + finding.place,
                        finding.found, finding.fix);
    }
    warnings.push_back(where + ": " + to_line(finding));
  }
  return warnings;
}

bool is_table_file(std::string_view named) { return named.ends_with(".json"); }

std::optional<std::string> find_rank_table(Inputs& inputs, const std::string& fallback) {
  std::string named = inputs.request().rank_table;
  if (named.empty()) named = rank_table_variable(inputs).value;
  if (named.empty()) named = fallback;
  if (named.empty()) return "";
  std::string path = join_path(inputs.facts().cwd, named);
  if (is_table_file(path)) return path;
  const PathState* state = inputs.kind(path);
  if (state == nullptr) return std::nullopt;
  if (state->kind == PathState::Kind::kFile) return path;
  if (state->kind == PathState::Kind::kError && !may_pass(state->error)) return path;
  std::string modelarts = join_path(path, "jobstart_hccl.json");
  std::string mindcluster = join_path(path, "hccl.json");
  const PathState* first = inputs.kind(modelarts);
  const PathState* second = inputs.kind(mindcluster);
  if (first == nullptr || second == nullptr) return std::nullopt;
  bool only_second =
      first->kind == PathState::Kind::kAbsent && second->kind != PathState::Kind::kAbsent;
  return only_second ? mindcluster : modelarts;
}

Location locate_by_table(Inputs& inputs, const std::string& path, RankOrder default_order,
                         const LocalNodeHints& hints, PlatformFacts platform) {
  const PathState* state = inputs.content(path);
  if (state == nullptr) return NeedsPaths{};
  const Request& request = inputs.request();
  Wait wait{path, "", request.rank_table_timeout_ms};
  if (state->kind != PathState::Kind::kFile) return without_file(*state, std::move(wait));

  TableMemo own;
  TableMemo& memo = inputs.memo() != nullptr ? *inputs.memo() : own;
  const RankOrder order = request.rank_order.value_or(default_order);
  if (!memo.holds(state->content, order)) {
    memo = {.text = state->content, .order = order};
    auto table = RankTable::parse(memo.text, path);
    if (!table && !table.error().incomplete) return table.error().error;
    if (table) {
      wait.why = table->not_ready_reason();
    } else {
      wait.why = memo.text.empty() ? "the file is empty" : to_line(table.error().error);
    }
    if (!wait.why.empty()) return NotYet{std::move(wait)};
    auto ranked = std::move(*table).rank(order);
    if (!ranked) return ranked.error();
    memo.findings = ranked->warnings();
    memo.nodes = ranked->nodes();
    memo.device_addresses = ranked->device_addresses();
    memo.rank_table = ranked->text();
  }

  auto rank_start = rank_start_of(inputs);
  if (!rank_start) return rank_start.error();
  auto local_node = recognise_local_node(*memo.nodes, request, *rank_start, hints);
  if (!local_node) {
    local_node.error().where = path + ": " + local_node.error().where;
    return local_node.error();
  }
  if (!memo.warnings) {
    auto warnings = table_warnings(memo.findings, *memo.nodes, request, path);
    if (!warnings) return warnings.error();
    memo.warnings = std::move(*warnings);
  }

  ResolvedCluster resolved;
  resolved.cluster.nodes = *std::exchange(memo.nodes, std::nullopt);
  for (Node& node : resolved.cluster.nodes) {
    node.slots = static_cast<int>(node.devices.size());
    resolved.cluster.world_size += node.slots;
  }
  resolved.cluster.device_addresses = memo.device_addresses;
  resolved.cluster.rank_table = memo.rank_table;
  resolved.local_node = std::move(*local_node);
  resolved.platform = std::move(platform);
  resolved.waits.push_back(std::move(wait));
  resolved.warnings = *memo.warnings;
  return resolved;
}

}  // namespace envgen
