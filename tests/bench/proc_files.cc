#include "tests/bench/proc_files.h"

#include <stdlib.h>

#include <sstream>

#include "tests/bench/harness.h"

namespace bench {
namespace {

// After the name, which may hold anything: the state is 0, minflt is 7.
std::string stat_word(pid_t pid, int index) {
  const std::string stat = read_text(proc_path(pid, "stat"));
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string::npos) return "";
  std::istringstream words(stat.substr(end_of_name + 1));
  std::string word;
  for (int i = 0; i <= index; ++i) words >> word;
  return word;
}

}  // namespace

std::int64_t field_of(const std::string& path, const std::string& name) {
  const std::string content = "\n" + read_text(path);
  const std::size_t at = content.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  return strtoll(content.c_str() + at + name.size() + 2, nullptr, 10);
}

std::string proc_path(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

double cpu_us(pid_t pid) {
  return strtod(read_text(proc_path(pid, "schedstat")).c_str(), nullptr) / 1e3;
}

std::int64_t context_switches(pid_t pid) {
  const std::string status = proc_path(pid, "status");
  return field_of(status, "voluntary_ctxt_switches") +
         field_of(status, "nonvoluntary_ctxt_switches");
}

std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream words(read_text(proc_path(pid, "task/" + std::to_string(pid) + "/children")));
  std::vector<pid_t> children;
  for (pid_t child = 0; words >> child;) children.push_back(child);
  return children;
}

char state_of(pid_t pid) {
  const std::string state = stat_word(pid, 0);
  return state.empty() ? '\0' : state[0];
}

std::int64_t minor_faults(pid_t pid) { return strtoll(stat_word(pid, 7).c_str(), nullptr, 10); }

}  // namespace bench
