#pragma once
// Hooks that are shell scripts in a scratch directory, run by a real worker below a parent of its
// own, whose log is a file.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "init/engine/hooks/hooks.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "tests/init/child.h"

namespace hooks {

// Some hooks write hundreds of megabytes, which takes minutes on a busy machine.
inline constexpr int kLimitMs = 600'000;

// A line for each piece of news: "export A=1", "failed 3: message".
inline std::string text_of(const engine::HookMessage& message) {
  if (const auto* failed = std::get_if<engine::HookFailed>(&message)) {
    return "failed " + std::to_string(failed->exit_code) + ": " + failed->message + "\n";
  }
  std::string text;
  for (const base::EnvEdit& edit : std::get<engine::HookExports>(message).edits) {
    text += "export " + edit.name + "=" + edit.value + "\n";
  }
  return text;
}

inline void read_all(engine::HookRun& run) {
  while (run.channel() >= 0) {
    pollfd ready{run.channel(), POLLIN, 0};
    if (::poll(&ready, 1, kLimitMs) != 1) return;
    run.read();
  }
}

class Hooks : public child::Scratch {
 protected:
  struct Outcome {
    int code = 0;
    std::string message;
    std::string log;
    std::int64_t duration_ms = 0;
  };

  Hooks() {
    std::filesystem::create_directory(path("run"));
    std::filesystem::create_directory(path("hooks"));
    group_.timeout_ms = kLimitMs;
    env_ = base::Environ({"PATH=/usr/bin:/bin", "TRAINIT_HOOK=pre-start"});
    run_dir_ = path("run");
  }

  void hook(const std::string& name, const std::string& text, mode_t mode = 0755) {
    group_.paths.push_back(write("hooks/" + name, text, mode));
  }
  void script(const std::string& name, const std::string& text) {
    hook(name, "#!/bin/sh\n" + text);
  }
  [[nodiscard]] std::string fifo(const std::string& name) const {
    EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
    return path(name);
  }

  // Runs the hooks below a parent of their own, whose log is a file. `meanwhile` is what the parent
  // does after the start; `first` what it does before.
  Outcome run(const std::function<void(const engine::HookRun&)>& meanwhile = {},
              const std::function<bool()>& first = {}) {
    const std::int64_t start_ms = sys::monotonic_ms();
    const std::string log = write("log", "");
    const auto ended = child::run([&] {
      const sys::Fd file(::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      ::dup2(file.get(), STDERR_FILENO);
      return run_here(meanwhile, first);
    });
    return {ended.code, ended.out, read(log), sys::monotonic_ms() - start_ms};
  }

  int run_here(const std::function<void(const engine::HookRun&)>& meanwhile,
               const std::function<bool()>& first) {
    sys::log::open(sys::log::Level::kInfo, sys::log::Format::kHuman, false);
    const proc::SavedSignals saved = proc::take_over_signals();
    if (first && !first()) return 99;
    std::string message;
    engine::HookRun hooks([&message](const engine::HookMessage& one) { message += text_of(one); });
    if (!hooks.start(group_, env_, run_dir_, forced_, {}, saved)) return 98;
    if (meanwhile) meanwhile(hooks);
    read_all(hooks);
    if (hooks.channel() >= 0) message += "no end after ten minutes\n";
    child::say(STDOUT_FILENO, message);
    return child::wait_for(hooks.pid());
  }

  envgen::HookGroup group_;
  base::Environ env_;
  std::string run_dir_;
  std::vector<std::string> forced_;
};

}  // namespace hooks
