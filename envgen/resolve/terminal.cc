#include "envgen/resolve/terminal.h"

#include <algorithm>
#include <string>

#include "base/search_path.h"
#include "envgen/framework/ssh.h"
#include "envgen/plan/command.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

constexpr const char* kName = "terminal";

void add_sshd(Inputs& inputs, Plan& plan) {
  const bool served = is_worker(plan) || std::ranges::find(plan.services, "sshd", &Process::name) !=
                                             plan.services.end();
  if (served) return;
  const base::Environ env = planned_environment(inputs, plan);
  const FoundProgram sshd = find_program(inputs, base::server_path_of(env), "sshd");
  if (!sshd.known) return;
  if (sshd.path.empty()) {
    plan.warnings.push_back(
        "no terminal: the image has no sshd; install openssh-server, or name a command with "
        "--terminal");
    return;
  }
  auto setup = ssh_setup(inputs);
  if (setup) return add_sshd_service(inputs, *setup, plan, kName);
  plan.warnings.push_back("no terminal: " + to_line(setup.error()));
}

}  // namespace

bool has_terminal(const Request& request) {
  return !request.terminal.empty() && request.terminal != "0";
}

void add_terminal(Inputs& inputs, const PlatformFacts& platform, Plan& plan) {
  const std::string& asked = inputs.request().terminal;
  if (asked.empty() || asked == "0") return;
  if (asked == "1") return add_sshd(inputs, plan);
  Process process;
  process.name = kName;
  process.of_job = true;
  process.argv = command_of_line(asked);
  process.cwd = start_directory(inputs, platform);
  plan.services.push_back(std::move(process));
}

}  // namespace envgen
