// What the instance that runs, or ran last, says of itself.

#include <poll.h>
#include <unistd.h>

#include "init/cli/commands.h"
#include "init/cli/control.h"
#include "init/cli/options.h"
#include "init/engine/state.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"

namespace cli {
namespace {

constexpr int kWatchPollMs = 200;

// 0 running or ended well, 1 failed or held, 2 no instance.
int code_of(const engine::JobReport& report, bool in_use) {
  if (!in_use && report.exit_code < 0) return kNoInstance;  // killed before it could say more
  if (report.exit_code > 0 || report.state == "error" || report.state == "expired" ||
      report.phase == "hold")
    return 1;
  return 0;
}

struct Look {
  std::string text;  // of the state file
  bool in_use = false;
};

Look look_at(const std::string& run_dir) {
  Look look;
  if (run_dir.empty()) return look;
  look.in_use = sys::run_dir_in_use(run_dir);
  look.text = sys::look(run_dir + "/state.json", true).content;
  return look;
}

int show(const Look& look, const std::string& run_dir, const Options& options) {
  if (look.text.empty()) return no_instance("asking for the status", run_dir);
  auto report = engine::state_from_json(look.text, run_dir + "/state.json");
  if (!report) return complain(report.error());
  int code = code_of(*report, look.in_use);
  const bool colour = ::isatty(STDOUT_FILENO) == 1;
  std::string text =
      options.json ? look.text : engine::state_to_text(*report, sys::wall_ms(), colour);
  if (code == kNoInstance && !options.json) {
    text += "no instance runs: it was killed before it could end the job\n";
  }
  int printed = print(text);
  return printed == 0 ? code : printed;
}

}  // namespace

int status_command(Arguments arguments, const envgen::Environ& env) {
  envgen::Environ own = env;
  auto options = options_alone(arguments, own);
  if (!options) return complain(options.error());
  if (options->help) return print(usage());
  std::string run_dir = sys::find_run_dir(own);
  Look last = look_at(run_dir);
  int code = show(last, run_dir, *options);
  while (options->watch && last.in_use && code != kFailed) {
    ::poll(nullptr, 0, kWatchPollMs);
    Look now = look_at(run_dir);
    bool changed = now.text != last.text || now.in_use != last.in_use;
    last = std::move(now);
    if (changed) code = show(last, run_dir, *options);
  }
  return code;
}

}  // namespace cli
