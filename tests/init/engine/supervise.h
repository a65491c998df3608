#pragma once
// engine::supervise in a process of its own, with shells as the job.

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "init/engine/supervisor.h"
#include "init/sys/log.h"
#include "tests/init/child.h"

// A job that supervise() runs in a process of its own, not as PID 1. The ranks are shells; each has
// its directory, and says what it does by files in the scratch directory.
class Supervise : public child::Scratch {
 protected:
  Supervise() {
    std::filesystem::create_directory(path("home"));
    std::filesystem::create_directory(path("out"));
    ::mkfifo(path("done").c_str(), 0600);
  }

  // One process for each of these devices, by a rank table.
  [[nodiscard]] engine::Setup ranks(int count, const std::string& script) const {
    std::string devices;
    for (int i = 0; i < count; ++i) {
      const std::string id = std::to_string(i);
      devices += (i == 0 ? "" : ",") + std::string(R"({"device_id":")") + id +
                 R"(","device_ip":"10.1.0.)" + id + R"(","rank_id":")" + id + "\"}";
    }
    engine::Setup setup = single(script);
    setup.request.rank_table =
        write("table.json", R"({"version":"1.0","server_count":"1","status":"completed",
          "server_list":[{"server_id":"10.0.0.1","device":[)" +
                                devices + "]}]}");
    setup.request.work_dir = path("home");
    return setup;
  }
  // One command, with nothing to resolve.
  [[nodiscard]] engine::Setup single(const std::string& script) const {
    engine::Setup setup;
    setup.base.env = base::Environ({"PATH=/usr/bin:/bin", "TRAINIT_RUN_DIR=" + path("run"),
                                    "OUT=" + path("out"), "DONE=" + path("done")});
    setup.request.command = {"/bin/sh", "-c", script};
    setup.request.grace_ms = 20'000;
    setup.termination_log = termination_log_.c_str();
    return setup;
  }

  static int supervise(engine::Setup setup) {
    setup.saved = proc::take_over_signals();
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    return engine::supervise(setup);
  }
  // As an ordinary process.
  static child::Outcome run(engine::Setup setup) {
    return child::run([&setup] { return supervise(std::move(setup)); });
  }
  // As PID 1; nothing where a pid namespace cannot be had.
  static std::optional<child::Outcome> run_as_pid1(engine::Setup setup) {
    constexpr int kRefused = 255;
    auto outcome = child::run([&setup] {
      if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return kRefused;
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing of a test that failed stays
        // Its own /proc, where no one else sees it: the other one's numbers are not ours.
        const bool mounted =
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
        ::_exit(mounted ? supervise(std::move(setup)) : kRefused);
      }
      return child::wait_for(pid);
    });
    if (outcome.code == kRefused) return std::nullopt;
    return outcome;
  }

  // This plan, as a resolver's child would have made it. Its processes are told where to write.
  [[nodiscard]] engine::Setup planned(const envgen::Plan& plan) const {
    engine::Setup setup = single("");
    setup.request.framework = plan.framework;
    setup.planner = [plan](envgen::Snapshot&, const envgen::Request&) {
      return envgen::Answer{envgen::Planned{plan}, {}};
    };
    return setup;
  }
  // A process of such a plan.
  static envgen::Process shell(const std::string& name, const std::string& script) {
    envgen::Process process;
    process.name = name;
    process.argv = {"/bin/sh", "-c", script};
    return process;
  }

  [[nodiscard]] int told(const std::string& what) const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path("out"))) {
      count += entry.path().filename().string().starts_with(what + "-") ? 1 : 0;
    }
    return count;
  }
  void forget() const {
    std::filesystem::remove_all(path("out"));
    std::filesystem::create_directory(path("out"));
  }

  std::string termination_log_ = path("termination-log");
};
