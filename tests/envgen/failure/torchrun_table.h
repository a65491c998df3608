#pragma once
// What torchrun prints of ranks that have failed, in the form of 1.13
// (torch/distributed/elastic/multiprocessing/errors/__init__.py).

#include <string>
#include <vector>

namespace torchrun {

struct Failed {
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  std::string traceback = {};   // "" = it had none to show
  std::string error_file = {};  // "" = none
  int exit_code = 1;
};

// Of a function that torchrun's @record has called: `line` of `script` raised `error`.
inline std::string recorded(const std::string& script, const std::string& raised,
                            const std::string& error) {
  const std::string package = "/usr/lib/python3/dist-packages/torch/distributed/elastic/";
  return "Traceback (most recent call last):\n"
         "    File \"" +
         package +
         "multiprocessing/errors/__init__.py\", line 346, in wrapper\n"
         "      return f(*args, **kwargs)\n"
         "             ^^^^^^^^^^^^^^^^^^\n"
         "    File \"" +
         script + "\n" + raised + "  " + error + "\n  ";
}

// `others`, then the one that it calls the root cause.
inline std::string table(const std::string& script, const std::string& host,
                         const std::vector<Failed>& others, const Failed& root,
                         std::size_t width = 60) {
  const auto entry = [&host](std::size_t index, const Failed& one) {
    const std::string none =
        "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
    return "[" + std::to_string(index) +
           "]:\n  time      : 2026-11-23_17:17:51\n  host      : " + host +
           "\n  rank      : " + std::to_string(one.rank) +
           " (local_rank: " + std::to_string(one.local_rank) +
           ")\n  exitcode  : " + std::to_string(one.exit_code) +
           " (pid: " + std::to_string(one.pid) +
           ")\n  error_file: " + (one.error_file.empty() ? "<N/A>" : one.error_file) +
           "\n  traceback : " + (one.traceback.empty() ? none : one.traceback) + "\n";
  };
  const std::string thin = std::string(width, '-') + "\n";
  const std::string thick = std::string(width, '=') + "\n";
  std::string text = thick + script + " FAILED\n" + thin + "Failures:\n";
  for (std::size_t i = 0; i < others.size(); ++i) text += entry(i + 1, others[i]);
  if (others.empty()) text += "  <NO_OTHER_FAILURES>\n";
  return text + thin + "Root Cause (first observed failure):\n" + entry(0, root) + thick;
}

}  // namespace torchrun
