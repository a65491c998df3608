#include "init/engine/tasks/start.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

using lifecycle::TaskKind;

Job job() {
  envgen::Process process;
  process.argv = {"program"};
  Job job;
  for (auto* list : {&job.plan.processes, &job.plan.services, &job.plan.post_stop}) {
    list->push_back(process);
  }
  return job;
}

proc::SpawnSpec spec_for(const Job& job, TaskKind kind) {
  static const envgen::Snapshot base;
  static const std::vector<std::string> none;
  TaskRecord record;
  record.kind = kind;
  record.process = 0;
  return spec_of(job, record, {.base = base, .own_variables = none});
}

TEST(SpecOf, PutsMainProcessesIntoTheSandboxAndNothingElse) {
  Job confined = job();
  confined.plan.sandbox.settings.no_new_privs = true;
  EXPECT_EQ(spec_for(confined, TaskKind::kMain).sandbox, &confined.plan.sandbox);
  EXPECT_EQ(spec_for(confined, TaskKind::kService).sandbox, nullptr);
  EXPECT_EQ(spec_for(confined, TaskKind::kPostStop).sandbox, nullptr);
}

TEST(SpecOf, HasNoSandboxWhereNoneWasAskedFor) {
  const Job free = job();
  EXPECT_EQ(spec_for(free, TaskKind::kMain).sandbox, nullptr);
}

// bash would read that file before the hook, and could undo the plan, or end the hook.
TEST(WatchEnv, HasNoStartUpFileOfBash) {
  envgen::Snapshot base;
  base.env = base::Environ({"PATH=/bin", "BASH_ENV=/etc/startup.sh", "ENV=production"});
  static const std::vector<std::string> none;
  const base::Environ env =
      watch_env(job(), envgen::HookEvent::kPreStart, {.base = base, .own_variables = none});
  EXPECT_FALSE(env.get("BASH_ENV"));
  EXPECT_EQ(env.get("ENV"), "production") << "only a terminal's sh would read it";
}

}  // namespace
}  // namespace engine
