// ranktable check | convert | generate: checks, converts and makes rank tables.

#include <unistd.h>

#include <algorithm>

#include "base/exit_codes.h"
#include "base/text.h"
#include "envgen/platform/platform.h"
#include "envgen/ranktable/hccn.h"
#include "envgen/ranktable/ranktable.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/proc/child_run.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/path_state.h"

namespace cli {
namespace {

using base::Result;
using envgen::PathState;
using envgen::RankOrder;

constexpr int kRefused = 1;
constexpr const char* kWriting = "writing the rank table";
constexpr std::int64_t kToolTimeoutMs = 5000;

int check_one(const std::string& path) {
  auto text = read_file(path, "checking the rank table");
  if (!text) return complain(text.error());
  auto table = envgen::RankTable::parse(*text, path);
  if (!table) {
    const base::Error& error = table.error().error;
    base::ShownLines lines;
    lines.add({path, ": refused [not-json]: ", error.where, ": ", error.found, "; ", error.fix});
    lines.add({path, ": not JSON: HCCL refuses it"});
    const int printed = print(lines);
    return printed != 0 ? printed : kRefused;
  }
  bool refused = !table->not_ready_reason().empty();
  base::ShownLines lines;
  for (const envgen::Finding& finding : table->check()) {
    refused = refused || finding.severity != envgen::Finding::Severity::kWarning;
    lines.add({path, ": ", to_line(finding)});
  }
  lines.add({path, ": ", format_name(table->format()), ": ",
             refused ? "HCCL refuses it" : "HCCL accepts it"});
  const int printed = print(lines);
  return printed != 0 ? printed : (refused ? kRefused : 0);
}

int check(const Options& options) {
  if (options.operands.empty()) {
    return complain({"checking a rank table", "", "no file", "name one or more files"});
  }
  int worst = 0;
  for (const std::string& path : options.operands) worst = std::max(worst, check_one(path));
  return worst;
}

// Returns the order that a plan would have on this node. A detection that reads files takes several
// rounds.
Result<RankOrder> order_here(const envgen::Request& request, const base::Environ& env) {
  if (request.rank_order) return *request.rank_order;
  envgen::Snapshot snapshot;
  snapshot.env = env;
  snapshot.facts = sys::gather_facts();
  while (true) {
    envgen::Inputs inputs(snapshot, request);
    TRY_ASSIGN(auto chosen, envgen::choose_platform(inputs));
    if (inputs.wants().empty()) return chosen.platform->table_order;
    for (const envgen::Want& want : inputs.wants()) {
      snapshot.paths[want.path] = sys::inspect(want.path, want.content);
    }
  }
}

int convert(const Options& options, const base::Environ& env) {
  constexpr const char* kConverting = "converting the rank table";
  const std::vector<std::string>& files = options.operands;
  if (files.size() != 1) {
    return complain({kConverting, "", std::to_string(files.size()) + " files", "name one"});
  }
  const std::string& path = files[0];
  auto text = read_file(path, kConverting);
  if (!text) return complain(text.error());
  auto table = envgen::RankTable::parse(*text, path);
  if (!table) return complain(table.error().error);
  if (std::string reason = table->not_ready_reason(); !reason.empty()) {
    return complain({kConverting, path, reason, "convert it when its status is \"completed\""});
  }
  const auto order = order_here(options.request, env);
  if (!order) return complain(order.error());
  const auto ranked = std::move(*table).rank(*order);
  if (!ranked) return complain(ranked.error());
  for (const envgen::Finding& finding : ranked->warnings()) {
    warn(path + ": " + to_line(finding));
  }
  const auto pieces = [converted = ranked->text()](const sys::Sink& sink) {
    converted.write(sink);
  };
  return put_out(options.out, pieces, kWriting);
}

Result<std::string> address_by_tool(int device, const base::Environ& start) {
  const std::string id = std::to_string(device);
  const std::string what = "asking for the address of device " + id;
  constexpr const char* kOtherWay =
      "mount the host's /etc/hccn.conf, or name a file with --hccn-conf";
  const auto tool = proc::find_driver_tool("hccn_tool", start);
  auto run = tool ? proc::capture(*tool, {"-i", id, "-ip", "-g"}, {.time_ms = kToolTimeoutMs})
                  : std::unexpected(tool.error());
  if (!run && run.error().exit_code == exit_code::kNotFound) {
    return base::fail(what, "hccn_tool", "no such program, and no /etc/hccn.conf", kOtherWay);
  }
  if (!run) return std::unexpected(std::move(run.error().error));
  if (run->late) {
    return base::fail(what, "hccn_tool", run->cut_short,
                      std::string("see whether npu-smi answers; ") + kOtherWay);
  }
  return envgen::parse_hccn_tool(run->output, "hccn_tool -i " + id);
}

Result<std::map<int, std::string>> addresses_by_tool(const std::vector<int>& devices,
                                                     const base::Environ& env) {
  std::map<int, std::string> addresses;
  for (int device : devices) {
    TRY_ASSIGN(addresses[device], address_by_tool(device, env));
  }
  return addresses;
}

struct Host {
  std::vector<int> devices;
  std::map<int, std::string> addresses;
};

Result<Host> host_of(const Options& options, const std::string& conf, const base::Environ& env) {
  Host host;
  if (!options.request.devices.empty()) {
    TRY_ASSIGN(host.devices, envgen::parse_device_list(options.request.devices, "--devices"));
  }
  PathState state = sys::inspect(conf, true);
  if (state.kind == PathState::Kind::kFile || !options.hccn_conf.empty()) {
    TRY_ASSIGN(auto text, read_file(conf, "generating a rank table"));
    TRY_ASSIGN(host.addresses, envgen::parse_hccn_conf(text, conf));
  } else if (host.devices.empty()) {
    return base::fail("generating a rank table", conf, "no such file",
                      "name the devices with --devices 0-7, or a file with --hccn-conf");
  } else {
    TRY_ASSIGN(host.addresses, addresses_by_tool(host.devices, env));
  }
  if (host.devices.empty()) {
    for (const auto& [id, address] : host.addresses) host.devices.push_back(id);
  }
  for (int id : host.devices) {
    if (host.addresses.contains(id)) continue;
    return base::fail("generating a rank table", conf, "no address of device " + std::to_string(id),
                      "name devices that it has with --devices");
  }
  return host;
}

// Refuses a table that HCCL does not accept. A host can cause one: a device 16, or one address on
// two devices.
base::Status refuse_unusable(const std::string& text) {
  constexpr const char* kGenerating = "generating a rank table";
  auto table = envgen::RankTable::parse(text, kGenerating);
  if (!table) return std::unexpected(table.error().error);
  for (const envgen::Finding& finding : table->check()) {
    if (finding.severity == envgen::Finding::Severity::kWarning) continue;
    return base::fail(kGenerating, finding.place, finding.found, finding.fix);
  }
  return {};
}

int generate(const Options& options, const base::Environ& env) {
  const std::string conf = options.hccn_conf.empty() ? "/etc/hccn.conf" : options.hccn_conf;
  auto host = host_of(options, conf, env);
  if (!host) return complain(host.error());
  if (host->devices.empty()) {
    return complain({"generating a rank table", conf, "no address_N line",
                     "name another file with --hccn-conf"});
  }
  std::string server_id = options.server_id;
  if (server_id.empty()) {
    envgen::Facts facts = sys::gather_facts();
    server_id = facts.addresses.empty() ? facts.host_name : facts.addresses.front();
  }
  const std::string text = envgen::generate_rank_table(server_id, host->devices, host->addresses);
  if (auto status = refuse_unusable(text); !status) return complain(status.error());
  return put_out(options.out, text, kWriting);
}

}  // namespace

int ranktable_command(Call& call) {
  const Options& options = call.options;
  if (options.command == kTableCheck) return check(options);
  return options.command == kTableConvert ? convert(options, call.env)
                                          : generate(options, call.env);
}

}  // namespace cli
