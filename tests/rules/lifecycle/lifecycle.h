#pragma once
// A job with hooks. Its course is told by a journal, the file $HERE/journal, to which hooks and job
// append a line each.

#include <sys/stat.h>

#include <string>

#include "tests/rules/job.h"

namespace rules {

class LifecycleTest : public EitherWay {
 protected:
  LifecycleTest() { ::mkdir(path("hooks").c_str(), 0755); }

  // A shell script as a hook of this event.
  void hook(const std::string& event, const std::string& script,
            const std::string& name = "10-hook") const {
    const std::string folder = "hooks/" + event + ".d";
    ::mkdir(path(folder).c_str(), 0755);
    write(folder + "/" + name, "#!/bin/sh\n" + script + "\n", 0755);
  }
  // A command as one process, with these hooks.
  [[nodiscard]] Spec job(const Words& options, const Words& command) const {
    return spec(joined(joined({"--hooks-dir", path("hooks")}, options), joined({"--"}, command)));
  }
  // The same as two ranks, which nothing but their number ties to a device.
  [[nodiscard]] Spec two_ranks(const Words& options, const Words& command) const {
    return job(joined({"--fan-out", "--slots", "2", "--work-dir", path("home")}, options), command);
  }
  [[nodiscard]] std::string journal() const { return read(path("journal")); }
  void make_fifo(const std::string& name) const {
    ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
  }
  // Until the state says so.
  void await_state(const std::string& text) const {
    await_file("run", "state.json");
    Instance watch({.args = {"status", "--json", "--watch"}, .env = env(), .pid1 = false});
    ASSERT_TRUE(watch.await_out(text));
  }
};

// A job whose nodes are instances on this machine, with `slots` ranks each.
class LocalNodes {
 public:
  explicit LocalNodes(int count, int slots = 1) : count_(count), slots_(slots) {
    for (int i = 2; i <= count; ++i) hosts_ += ",127.0.0." + std::to_string(i);
  }
  // Options of one of them. Each also needs a run directory of its own.
  [[nodiscard]] Words options(int node) const {
    return {"--platform=bare", "--fan-out",
            "--slots",         std::to_string(slots_),
            "--nodes",         std::to_string(count_),
            "--node-rank",     std::to_string(node),
            "--hosts",         hosts_,
            "--master-port",   master_,
            "--link-port",     link_};
  }

 private:
  int count_;
  int slots_;
  std::string hosts_ = "127.0.0.1";
  std::string master_ = std::to_string(free_port());
  std::string link_ = std::to_string(free_port());
};

inline constexpr const char* kRunning = "\"phase\": \"running\"";

}  // namespace rules
