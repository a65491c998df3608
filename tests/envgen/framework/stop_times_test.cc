// Launchers with a KILL of their own: the times in their messages and variables are those of the
// stop that trainit makes.

#include <gmock/gmock.h>

#include <random>

#include "base/text.h"
#include "envgen/show/plan_text.h"
#include "tests/envgen/framework/launcher_case.h"

namespace envgen {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kOpenMpisKillTimeout = "OMPI_MCA_odls_base_sigkill_timeout";

class AnyStop {
 public:
  explicit AnyStop(unsigned seed) : random_(seed) {}

  void give(LauncherCase& job) {
    base::Policy& policy = job.plan.policy;
    policy.grace_ms = any({0, 999, 4000, 8000, 31'000, 33'000, 60'000, 31'622'400'000});
    job.request.grace_ms = policy.grace_ms;
    policy.drain_ms = any({0, 0, 500, 3000, 40'000});
    policy.pre_stop_ms = any({0, 2000, 9000});
    policy.post_stop_ms = any({0, 2000, 9000});
    job.plan.hooks.clear();
    for (const HookEvent event : {HookEvent::kPreStop, HookEvent::kPostStop}) {
      if (random_() % 2 != 0) job.plan.hooks.push_back({event, {"/h/a"}, "", 1000, false});
    }
  }

 private:
  std::int64_t any(std::initializer_list<std::int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random_() % values.size()));
  }

  std::mt19937 random_;
};

TEST(StopTimes, OfTorchrunAreTheStops) {
  AnyStop stops(1);
  LauncherCase job({"torchrun", "x.py"}, {4, 4}, 0);
  job.with_programs({"/usr/bin/torchrun", "/usr/bin/python"});
  for (int i = 0; i < 2000; ++i) {
    stops.give(job);
    const Plan plan = job.planned(kLaunchPytorch);
    const std::int64_t term_ms = stop_budget(plan).term_phase_ms;
    const auto warns =
        Contains(HasSubstr("the grace period leaves it " + base::seconds(term_ms) + ":"));
    if (term_ms < 30'000) {
      ASSERT_THAT(plan.warnings, warns) << i;
    } else {
      ASSERT_THAT(plan.warnings, Not(Contains(HasSubstr("grace")))) << i;
    }
  }
}

LauncherCase mpi_job(const std::vector<int>& slots, int node) {
  LauncherCase job({"python", "x.py"}, slots, node);
  job.snapshot.facts.program = "/bin/trainit";
  for (const char* name : {"mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra", "prted",
                           "ompi_info", "orted", "mpirun"}) {
    job.snapshot.paths["/usr/bin/" + std::string(name)] = {};
  }
  return job.with_programs({"/usr/bin/mpirun", "/usr/bin/orted"});
}

// The plan of the launcher's node is the one whose stop kills mpirun.
TEST(StopTimes, OfMpirunAreTheStopsOfTheLaunchersNode) {
  AnyStop stops(2);
  for (const std::vector<int>& slots : {std::vector<int>{4}, std::vector<int>{4, 4}}) {
    LauncherCase launcher = mpi_job(slots, 0);
    LauncherCase worker = mpi_job(slots, static_cast<int>(slots.size()) - 1);
    for (int i = 0; i < 2000; ++i) {
      stops.give(launcher);
      worker.request = launcher.request;
      worker.plan = launcher.plan;
      const Plan plan = launcher.planned(kLaunchMpi);
      const Plan worker_plan = worker.planned(kLaunchMpi);
      const std::int64_t term_ms = stop_budget(plan).term_phase_ms;
      const std::string timeout = launcher.variable(plan, plan.processes[0], kOpenMpisKillTimeout);
      ASSERT_EQ(worker.variable(worker_plan, worker_plan.processes[0], kOpenMpisKillTimeout),
                timeout);
      ASSERT_EQ(worker_plan.warnings, plan.warnings);
      const auto warns = Contains(HasSubstr("leaves it " + base::seconds(term_ms) + ":"));
      if (term_ms < 3000) {
        ASSERT_THAT(plan.warnings, warns) << i;
      } else {
        ASSERT_THAT(plan.warnings, Not(Contains(HasSubstr("grace")))) << i;
        ASSERT_LE(2000 * std::stoll(timeout) + 1000, term_ms) << i;
        ASSERT_GT(2000 * std::stoll(timeout) + 3000, term_ms) << i;
      }
    }
  }
}

// `trainit plan`: the drain and the hooks of a stop.
TEST(StopTimes, InAPlanAreTheStops) {
  AnyStop stops(3);
  LauncherCase job({"x"}, {1}, 0);
  for (int i = 0; i < 2000; ++i) {
    stops.give(job);
    for (HookGroup& group : job.plan.hooks) group.timeout_ms = 600'000;
    const base::Budget stop = stop_budget(job.plan);
    const std::string text = plan_to_text(job.plan, {}).text();
    ASSERT_THAT(text, HasSubstr("stops within " + base::seconds(stop.exit_at)));
    if (stop.drained_at > 0) {
      ASSERT_THAT(text, HasSubstr("after a drain of " + base::seconds(stop.drained_at)));
    }
    if (has_hooks(job.plan, HookEvent::kPreStop)) {
      ASSERT_THAT(text, HasSubstr("600 s, " + base::seconds(stop.notify_at) + " within a stop\n"));
    }
    if (has_hooks(job.plan, HookEvent::kPostStop)) {
      ASSERT_THAT(text, HasSubstr("600 s, at least " + base::seconds(stop.post_stop_run_ms) +
                                  " within a stop\n"));
    }
  }
}

}  // namespace
}  // namespace envgen
