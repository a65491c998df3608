// Checks of the network as the communication libraries will use it.

#include <algorithm>
#include <array>

#include "init/doctor/checks.h"
#include "init/doctor/interfaces.h"
#include "init/doctor/machine.h"

namespace doctor {
namespace {

struct Variable {
  std::string_view name;
  bool exact;
};

constexpr std::array<Variable, 5> kVariables = {{{"NCCL_SOCKET_IFNAME", false},
                                                 {"HCCL_SOCKET_IFNAME", false},
                                                 {"GLOO_SOCKET_IFNAME", true},
                                                 {"TP_SOCKET_IFNAME", true},
                                                 {"MCCL_SOCKET_IFNAME", true}}};

bool is_up(const Context& context, const std::string& name) {
  // Interfaces without a carrier (lo, tun, some veth) report "unknown".
  const std::string state = text_of(context, "/sys/class/net/" + name + "/operstate");
  return state == "up" || state == "unknown" || state.empty();
}

void check_variable(const Context& context, const Variable& variable,
                    const std::vector<std::string>& interfaces, Results& results) {
  const std::string value(context.env.get_or(variable.name, ""));
  if (value.empty()) return;
  const std::string place(variable.name);
  const NamedInterfaces named = named_interfaces(value, variable.exact, interfaces);
  const std::string fix = "give interfaces that are here: " + listed(interfaces);
  if (named.chosen.empty()) {
    results.push_back(failed(value + " names no interface of this container", fix, place));
    return;
  }
  if (!named.missing.empty()) {
    results.push_back(
        warning(listed(named.missing) + " is no interface of this container", fix, place));
  }
  for (const std::string& name : named.chosen) {
    if (is_up(context, name)) continue;
    results.push_back(failed(name + " is down", "see its link and its driver on the host", place));
  }
}

}  // namespace

NamedInterfaces named_interfaces(std::string_view list, bool exact,
                                 const std::vector<std::string>& interfaces) {
  const bool excludes = !exact && (list.starts_with('^') || list.starts_with('!'));
  if (excludes) list.remove_prefix(1);
  const bool whole = exact || list.starts_with('=');
  if (!exact && list.starts_with('=')) list.remove_prefix(1);
  NamedInterfaces named;
  std::vector<bool> hit(interfaces.size());
  for (std::string& item : split_list(list)) {
    bool found = false;
    item.resize(std::min(item.find(':'), item.size()));  // NCCL accepts a port after the name
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
      const bool matches = whole ? interfaces[i] == item : interfaces[i].starts_with(item);
      hit[i] = hit[i] || matches;
      found = found || matches;
    }
    if (!found && !excludes) named.missing.push_back(std::move(item));
  }
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    if (hit[i] != excludes) named.chosen.push_back(interfaces[i]);
  }
  return named;
}

Results check_network(const Context& context) {
  const std::vector<std::string> interfaces = names_in(context, "/sys/class/net");
  if (interfaces.empty()) return {skipped("/sys/class/net is not mounted")};
  Results results;
  for (const Variable& variable : kVariables) {
    check_variable(context, variable, interfaces, results);
  }
  std::vector<std::string> up;
  for (const std::string& name : interfaces) {
    if (name != "lo" && is_up(context, name)) up.push_back(name);
  }
  if (up.empty() && !context.other_nodes.empty()) {
    results.push_back(failed("no interface but lo is up, and the job has " +
                                 count_text(context.other_nodes.size(), "other node"),
                             "give the container a network"));
  }
  if (results.empty()) {
    results.push_back(
        ok(up.empty() ? "lo alone, which a job of one node is content with" : listed(up) + " up"));
  }
  return results;
}

}  // namespace doctor
