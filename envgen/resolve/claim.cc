#include "envgen/resolve/claim.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/constants/words.h"
#include "base/content_hash.h"
#include "base/text.h"

namespace envgen {
namespace {

// Variables of a shell, a connection or a login session. Two starts of one job can differ in them.
constexpr auto kVolatile =
    base::words("_", "SHLVL", "OLDPWD", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
                "TMUX", "TMUX_PANE", "STY", "WINDOWID", "TERM", "COLUMNS", "LINES",
                "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "KRB5CCNAME", "LESSOPEN");

bool is_of_session(std::string_view name) {
  return name.starts_with("SSH_") || name.starts_with("XDG_") || name.starts_with("SUDO_") ||
         name.starts_with("VSCODE_") || std::ranges::find(kVolatile, name) != kVolatile.end();
}

void add(base::ContentHash& hash, std::string_view text) {
  const std::uint64_t size = text.size();
  hash.update({reinterpret_cast<const char*>(&size), sizeof size});
  hash.update(text);
}
void add(base::ContentHash& hash, std::uint64_t number) { add(hash, std::to_string(number)); }

// Returns a digest that does not depend on the order of the variables.
std::uint64_t environment_digest(const base::Environ& env) {
  std::uint64_t digest = 0;
  for (const std::string& entry : env.entries()) {
    std::string_view value = entry;
    const std::string_view name = base::take_part(value, '=');
    if (!is_of_session(name)) digest += base::hash_of(entry);
  }
  return digest;
}

}  // namespace

std::uint64_t claim_of(const Plan& plan, const base::Environ& env, std::string_view run_dir) {
  if (plan.processes.empty() || plan.world_size < 2 || plan.framework == "single") return 0;
  base::ContentHash hash;
  add(hash, plan.framework);
  for (const int number : {plan.local_node ? plan.local_node->node_rank : 0, plan.node_count,
                           plan.world_size, plan.link ? plan.link->port : 0}) {
    add(hash, static_cast<std::uint64_t>(number));
  }
  add(hash, plan.link ? plan.link->address : "");
  if (plan.cluster) {
    for (const Node& node : plan.cluster->nodes) add(hash, node.host);
  }
  // A second instance in a container has another run directory, or none, so its paths do not count.
  const std::string own = std::string(run_dir) + "/";
  const auto add_unless_own = [&](std::string_view text) {
    if (own.size() == 1 || !text.contains(own)) add(hash, text);
  };
  for (const Process& process : plan.processes) {
    add(hash, process.name);
    add_unless_own(process.cwd);
    for (const std::string& word : process.argv) add_unless_own(word);
    for (const base::EnvEdit& edit : process.env) {
      if (edit.name == "MASTER_PORT" && !plan.free_master_port) add(hash, edit.value);
    }
  }
  if (!plan.link) add(hash, environment_digest(env));
  return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace envgen
