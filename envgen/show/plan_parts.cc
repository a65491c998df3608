#include "envgen/show/plan_parts.h"

#include <algorithm>

#include "base/constants/trusted_path.h"
#include "base/printed_text.h"
#include "base/text.h"
#include "envgen/plan/launch.h"

namespace envgen {

bool is_free_port(const Plan& plan, std::string_view variable) {
  return plan.free_master_port &&
         (variable == kFreeAddressVariable ||
          std::ranges::find(kFreePortVariables, variable) != std::end(kFreePortVariables));
}

std::string value_text(std::string_view value) {
  if (base::escaped_text(value) == value) {
    const bool is_word = !value.contains(' ') && !value.contains('\'') && !value.contains('\\') &&
                         std::ranges::count(value, '"') % 2 == 0;
    return is_word ? std::string(value) : base::shell_quoted(value);
  }
  std::string text = "$'";
  for (std::size_t at = 0; at < value.size();) {
    if (value[at] == '\'' || value[at] == '\\') text += '\\';
    at += base::append_escaped(value.substr(at), text);
  }
  return text + "'";
}

std::string within_stop_text(const base::Budget& stop, HookEvent event, std::int64_t timeout_ms) {
  if (event == HookEvent::kPreStop && stop.notify_at < timeout_ms) {
    return ", " + base::seconds(stop.notify_at) + " within a stop";
  }
  if (event == HookEvent::kPostStop && stop.post_stop_run_ms < timeout_ms) {
    return ", at least " + base::seconds(stop.post_stop_run_ms) + " within a stop";
  }
  return {};
}

base::ShownLines script_lines(const Plan& plan) {
  base::ShownLines lines;
  const char* no_shell = plan.shell.empty() ? ", but there is no shell" : "";
  for (const std::string& script : plan.leave_scripts) {
    lines.add({"first sources ", script, no_shell});
  }
  for (const std::string& script : plan.scripts) lines.add({"sources ", script, no_shell});
  return lines;
}

base::ShownLines preflight_lines(const Plan& plan) {
  base::ShownLines lines;
  if (plan.observe.preflight == Preflight::kOff) return lines;
  const bool required = plan.observe.preflight == Preflight::kRequire;
  lines.add({"checks the machine first, as trainit doctor does",
             required ? "; a failed check ends the job" : ""});
  return lines;
}

base::ShownLines hook_right_lines(const Plan& plan) {
  base::ShownLines lines;
  if (plan.hooks.empty()) return lines;
  if (plan.sandbox.identity && plan.sandbox.identity->uid != 0) {
    lines.add({"hooks have trainit's rights, and PATH=", base::kTrustedPath});
  } else if (plan.sandbox.capabilities) {
    lines.add({"hooks have trainit's rights, and root's job may change them: use --user as well"});
  }
  return lines;
}

base::ShownLines device_wait_lines(const Plan& plan) {
  base::ShownLines lines;
  if (!plan.device_wait) return lines;
  const auto& devices = plan.device_wait->devices;
  const std::size_t more = devices.size() - 1;
  lines.add({"before a restart waits until nobody holds the devices (", devices[0].path,
             more > 0 ? " and " + std::to_string(more) + " more" : "", "), at most ",
             base::seconds(plan.device_wait->timeout_ms)});
  return lines;
}

base::ShownLines warm_lines(const Plan& plan) {
  base::ShownLines lines;
  if (plan.warm.modules.empty()) return lines;
  std::string ranks;
  for (std::size_t i = 0; i < plan.warm.processes.size() && i < plan.processes.size(); ++i) {
    if (plan.warm.processes[i].operand < 0) continue;
    ranks += (ranks.empty() ? "" : ", ") + plan.processes[i].name;
  }
  if (ranks.empty()) {
    lines.add({"a restart is a cold one: ", plan.warm.cold});
    return lines;
  }
  std::string modules = base::joined(plan.warm.modules, ", ");
  if (modules == kWarmAuto) modules = "what the program imports first";
  lines.add({"keeps a process warm for a restart of each of ", ranks, ", with ", modules});
  return lines;
}

}  // namespace envgen
