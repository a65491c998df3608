#include "tests/sim/job_parts.h"

namespace sim {

std::string number(int value) { return std::to_string(value); }

std::string join(const Words& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// name(0), name(1), ...
Words names(int count, const std::function<std::string(int)>& name) {
  Words list;
  list.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) list.push_back(name(i));
  return list;
}

std::string quoted(const Words& words) { return "[\"" + join(words, "\",\"") + "\"]"; }

std::string address_of(int node) {
  return "10.1." + number(node / 250) + "." + number(1 + node % 250);
}

Container plain(const Words& argv, const Words& variables, const std::string& host_name) {
  Container container;
  container.snapshot.argv = argv;
  Words entries = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  entries.insert(entries.end(), variables.begin(), variables.end());
  container.snapshot.env = base::Environ(entries);
  envgen::Facts& facts = container.snapshot.facts;
  facts.cwd = "/workspace";
  facts.host_name = host_name;
  facts.cpus = 96;
  facts.run_dir = "/run/trainit";
  facts.program = "/usr/local/bin/trainit";
  for (const char* path : {"/workspace", "/run/trainit", "/bin/bash", "/usr/bin/python",
                           "/usr/bin/python3", "/usr/bin/torchrun"}) {
    container.paths[path] = directory_of();
  }
  for (const char* path : {"/bin/bash", "/usr/bin/python", "/usr/bin/python3", "/usr/bin/torchrun",
                           "/workspace/train.py"}) {
    container.paths[path] = file_of("#!");
  }
  return container;
}

void add_gpus(Container& container, int count) {
  envgen::PathState devices = directory_of();
  devices.entries = {"null", "nvidiactl", "nvidia-uvm"};
  for (int i = 0; i < count; ++i) devices.entries.push_back("nvidia" + number(i));
  container.paths["/dev"] = devices;
}

Words with_options(Words options, const Words& command) {
  options.insert(options.end(), command.begin(), command.end());
  return options;
}

}  // namespace sim
