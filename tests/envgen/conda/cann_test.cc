#include "envgen/conda/cann.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/resolve/resolve.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

constexpr const char* kToolkit = "/usr/local/Ascend/ascend-toolkit/set_env.sh";
constexpr const char* kAtb = "/usr/local/Ascend/nnal/atb/set_env.sh";
constexpr const char* kDriver = "/usr/local/Ascend/driver/lib64";

Tree cann() { return Tree().file("/bin/bash").file("/bin/sh").file(kToolkit).file(kAtb); }

Plan plan_of(const Tree& tree, const Words& variables) {
  Snapshot snapshot;
  snapshot.env = base::Environ(variables);
  Plan plan;
  while (true) {
    Request request;
    Inputs inputs(snapshot, request);
    plan = {};
    EXPECT_TRUE(apply_cann(inputs, plan));
    if (inputs.wants().empty()) return plan;
    for (const Want& want : inputs.wants()) {
      snapshot.paths[want.path] = tree.look(want.path, want.content);
    }
  }
}

std::string libraries(const Tree& tree, const Words& variables) {
  base::Environ env(variables);
  for (const base::EnvEdit& edit : plan_of(tree, variables).env) env.apply(edit);
  return std::string(env.get_or("LD_LIBRARY_PATH", "(unset)"));
}

TEST(Cann, BothScriptsAreSourcedInAnAscendJob) {
  const Plan plan = plan_of(cann(), {});
  EXPECT_THAT(plan.scripts, ElementsAre(kToolkit, kAtb));
  EXPECT_EQ(plan.shell, "/bin/bash");
}

TEST(Cann, OtherJobsLookAtNothing) {
  for (const char* framework : {"single", "pytorch", "tensorflow"}) {
    Request request;
    request.command = {"python", "train.py"};
    request.framework = framework;
    Snapshot snapshot;
    snapshot.env = base::Environ({"PATH=/bin"});
    const Answer answer = resolve_in(cann(), snapshot, request);
    const auto* planned = std::get_if<Planned>(&answer.outcome);
    ASSERT_NE(planned, nullptr) << framework;
    EXPECT_THAT(planned->plan.scripts, IsEmpty());
  }
}

TEST(Cann, WhatIsSetAlreadyIsNotSourcedAgain) {
  EXPECT_THAT(plan_of(cann(), {"ASCEND_TOOLKIT_HOME=/cann"}).scripts, ElementsAre(kAtb));
  EXPECT_THAT(plan_of(cann(), {"ATB_HOME_PATH=/atb"}).scripts, ElementsAre(kToolkit));
  EXPECT_THAT(plan_of(cann(), {"ATB_HOME_PATH=/atb", "ASCEND_TOOLKIT_HOME=/cann"}).scripts,
              IsEmpty());
}

TEST(Cann, WhatIsNotThereIsNotSourced) {
  const Plan plan = plan_of(Tree().file("/bin/sh"), {});
  EXPECT_THAT(plan.scripts, IsEmpty());
  EXPECT_THAT(plan.env, IsEmpty());
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(Cann, WithoutAShellTheScriptIsNamed) {
  EXPECT_THAT(plan_of(Tree().file(kToolkit), {}).warnings, ElementsAre(HasSubstr(kToolkit)));
}

TEST(Cann, DriverLibrariesThatAreThereComeFirst) {
  const Tree tree = Tree().directory("/usr/local/Ascend/driver/lib64/common");
  const std::string common = std::string(kDriver) + "/common";
  EXPECT_EQ(libraries(tree, {}), kDriver + (":" + common));
  EXPECT_EQ(libraries(tree, {"LD_LIBRARY_PATH=/a"}), kDriver + (":" + common) + ":/a");
}

TEST(Cann, DriverLibrariesThatStandThereStay) {
  const Tree tree = Tree().directory(kDriver);
  const std::string before = "/a:" + std::string(kDriver) + "/:/b";
  EXPECT_EQ(libraries(tree, {"LD_LIBRARY_PATH=" + before}), before);
  EXPECT_EQ(libraries(Tree(), {"LD_LIBRARY_PATH=::/a"}), "::/a");
}

}  // namespace
}  // namespace envgen
