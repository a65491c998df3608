// ranktable check | convert | generate: rank tables as files.

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "envgen/ranktable/hccn.h"
#include "envgen/ranktable/ranktable.h"
#include "init/cli/commands.h"
#include "init/cli/files.h"
#include "init/cli/options.h"
#include "init/proc/driver_tool.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {
namespace {

using envgen::PathState;
using envgen::RankOrder;
using envgen::Result;

constexpr int kRefused = 1;
constexpr int kNoSuchTool = 127;
constexpr std::int64_t kToolTimeoutMs = 5000;

constexpr std::string_view kUsage =
    "trainit ranktable check FILE...\n"
    "    does HCCL accept it? 0 yes, 1 no; a line for each finding\n"
    "trainit ranktable convert FILE [-o OUT] [--rank-order pod-index|server-id]\n"
    "    template 1 on stdout or in OUT\n"
    "trainit ranktable generate [--devices LIST] [--server-id ID] [--hccn-conf FILE] [-o OUT]\n"
    "    a table of this host from /etc/hccn.conf, else from hccn_tool for the devices named\n";

// What follows `ranktable`: flags with a value, and files.
struct Line {
  std::vector<std::string> files;
  std::string output;
  std::string devices;
  std::string server_id;
  std::string hccn_conf = "/etc/hccn.conf";
  std::string rank_order = "pod-index";
};

Result<Line> parse_line(Arguments arguments, const envgen::Environ& env) {
  Line line;
  if (auto order = env.get_or("TRAINIT_RANK_ORDER", ""); !order.empty()) line.rank_order = order;
  const std::array<std::pair<std::string_view, std::string*>, 6> flags = {
      {{"-o", &line.output},
       {"--output", &line.output},
       {"--devices", &line.devices},
       {"--server-id", &line.server_id},
       {"--hccn-conf", &line.hccn_conf},
       {"--rank-order", &line.rank_order}}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-') || argument == "-") {
      line.files.push_back(argument);
      continue;
    }
    std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const auto* flag =
        std::ranges::find(flags, name, &std::pair<std::string_view, std::string*>::first);
    if (flag == flags.end()) {
      return envgen::fail("reading the options", std::string(name), "no such option",
                          "see trainit ranktable --help");
    }
    if (name.size() < argument.size()) {
      *flag->second = argument.substr(name.size() + 1);
    } else if (i + 1 < arguments.size()) {
      *flag->second = arguments[++i];
    } else {
      return envgen::fail("reading the options", argument, "no value",
                          "see trainit ranktable --help");
    }
  }
  return line;
}

Result<RankOrder> order_of(const Line& line) {
  if (line.rank_order == "pod-index") return RankOrder::kPodIndex;
  if (line.rank_order == "server-id") return RankOrder::kServerId;
  return envgen::fail("reading the options", "--rank-order", '"' + line.rank_order + '"',
                      "give pod-index or server-id");
}

int put_out(const Line& line, std::string_view text) {
  if (line.output.empty() || line.output == "-") return print(text);
  auto status = write_output(line.output, text, "writing the rank table");
  return status ? 0 : complain(status.error());
}

int check_one(const std::string& path) {
  auto text = read_file(path, "checking the rank table");
  if (!text) return complain(text.error());
  auto table = envgen::RankTable::parse(*text, path);
  if (!table) {
    const envgen::Error& error = table.error().error;
    const int printed = print(path + ": refused [not-json]: " + error.where + ": " + error.found +
                              "; " + error.fix + "\n" + path + ": not JSON: HCCL refuses it\n");
    return printed != 0 ? printed : kRefused;
  }
  bool refused = !table->not_ready_reason().empty();
  std::string lines;
  for (const envgen::Finding& finding : table->check()) {
    refused = refused || finding.severity != envgen::Finding::Severity::kWarning;
    lines += path + ": " + to_line(finding) + "\n";
  }
  lines += path + ": " + std::string(format_name(table->format())) + ": " +
           (refused ? "HCCL refuses it\n" : "HCCL accepts it\n");
  int printed = print(lines);
  return printed != 0 ? printed : (refused ? kRefused : 0);
}

int check(const Line& line) {
  if (line.files.empty()) {
    return complain({"checking a rank table", "", "no file", "name one or more files"});
  }
  int worst = 0;
  for (const std::string& path : line.files) worst = std::max(worst, check_one(path));
  return worst;
}

int convert(const Line& line) {
  constexpr const char* kConverting = "converting the rank table";
  auto order = order_of(line);
  if (!order) return complain(order.error());
  if (line.files.size() != 1) {
    return complain({kConverting, "", std::to_string(line.files.size()) + " files", "name one"});
  }
  const std::string& path = line.files[0];
  auto text = read_file(path, kConverting);
  if (!text) return complain(text.error());
  auto table = envgen::RankTable::parse(*text, path);
  if (!table) return complain(table.error().error);
  if (std::string reason = table->not_ready_reason(); !reason.empty()) {
    return complain({kConverting, path, reason, "convert it when its status is \"completed\""});
  }
  auto converted = table->convert(*order);
  if (!converted) return complain(converted.error());
  for (const envgen::Finding& finding : converted->warnings) {
    std::string warning = "trainit: warning: " + path + ": " + to_line(finding) + "\n";
    (void)!::write(STDERR_FILENO, warning.data(), warning.size());
  }
  return put_out(line, converted->text);
}

struct ToolRun {
  std::string output;
  int status = 0;  // as waitpid tells it
  bool in_time = false;
};

// What `hccn_tool -i ID -ip -g` prints; it reads the driver, so it gets a limited time.
Result<ToolRun> run_hccn_tool(const proc::Tool& tool, const std::string& device) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return envgen::fail("running hccn_tool", "pipe", sys::errno_text(errno), "");
  }
  sys::Fd read_end(ends[0]);
  sys::Fd write_end(ends[1]);
  const std::vector<std::string> argv = {tool.path, "-i", device, "-ip", "-g"};
  proc::Program program(argv, tool.env);
  auto pid = proc::fork_worker({}, write_end.get(), [&write_end, &program] {
    ::dup2(write_end.get(), STDOUT_FILENO);
    return program.exec().exit_code;
  });
  if (!pid) return std::unexpected(pid.error());
  write_end.reset();
  ToolRun run;
  const std::int64_t deadline = sys::monotonic_ms() + kToolTimeoutMs;
  while (!run.in_time) {
    const std::int64_t left = std::max<std::int64_t>(deadline - sys::monotonic_ms(), 0);
    pollfd wait = {read_end.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left)) <= 0) break;
    char chunk[4096];
    ssize_t size = ::read(read_end.get(), chunk, sizeof chunk);
    run.in_time = size <= 0;
    if (size > 0) run.output.append(chunk, static_cast<std::size_t>(size));
  }
  // Its group, as it may be a script. Not only when it is late: one may close stdout and stay.
  ::kill(-*pid, SIGKILL);
  ::waitpid(*pid, &run.status, 0);
  return run;
}

Result<std::string> address_by_tool(int device, const envgen::Environ& env) {
  const std::string id = std::to_string(device);
  const std::string what = "asking for the address of device " + id;
  constexpr const char* kOtherWay =
      "mount the host's /etc/hccn.conf, or name a file with --hccn-conf";
  const auto tool = proc::find_driver_tool("hccn_tool", env);
  if (!tool && tool.error().exit_code != kNoSuchTool) return std::unexpected(tool.error().error);
  auto run =
      tool ? run_hccn_tool(*tool, id)
           : Result<ToolRun>(ToolRun{.output = {}, .status = kNoSuchTool << 8, .in_time = true});
  if (!run) return std::unexpected(run.error());
  if (!run->in_time) {
    return envgen::fail(what, "hccn_tool",
                        "no answer in " + std::to_string(kToolTimeoutMs / 1000) + " s",
                        std::string("see whether npu-smi answers; ") + kOtherWay);
  }
  if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == kNoSuchTool) {
    return envgen::fail(what, "hccn_tool", "no such program, and no /etc/hccn.conf", kOtherWay);
  }
  return envgen::parse_hccn_tool(run->output, "hccn_tool -i " + id);
}

Result<std::map<int, std::string>> addresses_by_tool(const std::vector<int>& devices,
                                                     const envgen::Environ& env) {
  std::map<int, std::string> addresses;
  for (int device : devices) {
    auto address = address_by_tool(device, env);
    if (!address) return std::unexpected(address.error());
    addresses[device] = std::move(*address);
  }
  return addresses;
}

struct Host {
  std::vector<int> devices;
  std::map<int, std::string> addresses;
};

Result<Host> host_of(const Line& line, const envgen::Environ& env) {
  Host host;
  if (!line.devices.empty()) {
    auto devices = envgen::parse_device_list(line.devices, "--devices");
    if (!devices) return std::unexpected(devices.error());
    host.devices = std::move(*devices);
  }
  PathState state = sys::look(line.hccn_conf, true);
  bool named = line.hccn_conf != Line{}.hccn_conf;
  if (state.kind == PathState::Kind::kFile || named) {
    auto text = read_file(line.hccn_conf, "generating a rank table");
    if (!text) return std::unexpected(text.error());
    auto addresses = envgen::parse_hccn_conf(*text, line.hccn_conf);
    if (!addresses) return std::unexpected(addresses.error());
    host.addresses = std::move(*addresses);
  } else if (host.devices.empty()) {
    return envgen::fail("generating a rank table", line.hccn_conf, "no such file",
                        "name the devices with --devices 0-7, or a file with --hccn-conf");
  } else {
    auto addresses = addresses_by_tool(host.devices, env);
    if (!addresses) return std::unexpected(addresses.error());
    host.addresses = std::move(*addresses);
  }
  if (host.devices.empty()) {
    for (const auto& [id, address] : host.addresses) host.devices.push_back(id);
  }
  for (int id : host.devices) {
    if (host.addresses.contains(id)) continue;
    return envgen::fail("generating a rank table", line.hccn_conf,
                        "no address of device " + std::to_string(id),
                        "name devices that it has with --devices");
  }
  return host;
}

// A host may have what HCCL does not take: a device 16, one address on two devices.
envgen::Status refuse_unusable(const std::string& text) {
  constexpr const char* kGenerating = "generating a rank table";
  auto table = envgen::RankTable::parse(text, kGenerating);
  if (!table) return std::unexpected(table.error().error);
  for (const envgen::Finding& finding : table->check()) {
    if (finding.severity == envgen::Finding::Severity::kWarning) continue;
    return envgen::fail(kGenerating, finding.place, finding.found, finding.fix);
  }
  return {};
}

int generate(const Line& line, const envgen::Environ& env) {
  auto host = host_of(line, env);
  if (!host) return complain(host.error());
  if (host->devices.empty()) {
    return complain({"generating a rank table", line.hccn_conf, "no address_N line",
                     "name another file with --hccn-conf"});
  }
  std::string server_id = line.server_id;
  if (server_id.empty()) {
    envgen::Facts facts = sys::gather_facts();
    server_id = facts.addresses.empty() ? facts.host_name : facts.addresses.front();
  }
  const std::string text = envgen::generate_rank_table(server_id, host->devices, host->addresses);
  if (auto status = refuse_unusable(text); !status) return complain(status.error());
  return put_out(line, text);
}

}  // namespace

int ranktable_command(Arguments arguments, const envgen::Environ& env) {
  using Action = int (*)(const Line&, const envgen::Environ&);
  static constexpr std::pair<std::string_view, Action> kActions[] = {
      {"check", [](const Line& line, const envgen::Environ&) { return check(line); }},
      {"convert", [](const Line& line, const envgen::Environ&) { return convert(line); }},
      {"generate", generate}};
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    return print(kUsage);
  }
  for (const auto& [name, action] : kActions) {
    if (arguments.empty() || arguments[0] != name) continue;
    auto line = parse_line(arguments.subspan(1), env);
    return line ? action(*line, env) : complain(line.error());
  }
  return complain({"reading the command line", "ranktable",
                   arguments.empty() ? "no action" : '"' + arguments[0] + '"',
                   "use check, convert or generate"});
}

}  // namespace cli
