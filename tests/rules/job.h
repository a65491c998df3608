#pragma once
// A directory with what a job needs: a rank table, a run directory, a place for what the ranks
// tell.

#include "tests/init/child.h"
#include "tests/rules/instance.h"

namespace rules {

// A table of template 1 with so many devices on one server.
std::string rank_table(int devices);

inline Words shell(std::string script) { return {"/bin/sh", "-c", std::move(script)}; }
Words joined(Words first, const Words& second);

class JobTest : public child::Scratch {
 protected:
  JobTest();

  // {PATH, TRAINIT_RUN_DIR, PAYLOAD_OUT, HERE}; HERE is the directory.
  [[nodiscard]] Words env() const;
  // trainit's arguments for one process a device; `options` are put before the command.
  [[nodiscard]] Words ranks(int count, const Words& command, const Words& options = {}) const;
  [[nodiscard]] Spec spec(Words args) const { return {.args = std::move(args), .env = env()}; }

  // Until payload tells `name`; told() is what it said.
  void await_told(const std::string& name) const { await_file("out", name); }
  // Until it stands in that directory of ours: a job may run before its state is written.
  void await_file(const std::string& directory, const std::string& name) const;
  [[nodiscard]] std::string told(const std::string& name) const {
    return read(path("out/" + name));
  }
  [[nodiscard]] std::string log_of(int rank) const {
    return read(path("run/logs/rank-" + std::to_string(rank) + ".log"));
  }
  // Another command of trainit, in this namespace.
  [[nodiscard]] Result tool(Words args) const;
};

// The same as PID 1 and as an ordinary process.
class EitherWay : public JobTest, public testing::WithParamInterface<bool> {
 protected:
  [[nodiscard]] Spec spec(Words args) const {
    return {.args = std::move(args), .env = env(), .pid1 = GetParam()};
  }
};
#define RULES_EITHER_WAY(suite)                                      \
  INSTANTIATE_TEST_SUITE_P(Run, suite, testing::Values(true, false), \
                           [](const auto& value) { return value.param ? "AsPid1" : "NotPid1"; })

}  // namespace rules
