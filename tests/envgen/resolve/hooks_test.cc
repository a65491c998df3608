#include "envgen/resolve/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envgen/resolve/resolve.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Words = std::vector<std::string>;

const std::string kImage = kHooksDirectory;

// A job of one process on a machine with `tree`.
struct Job {
  Tree tree = {};
  Request request = {};

  Job() {
    request.command = {"python", "train.py"};
    tree.directory("/etc");
  }
  [[nodiscard]] Answer answer(int* rounds = nullptr) const {
    Snapshot snapshot;
    snapshot.env = base::Environ({"PATH=/usr/bin"});
    snapshot.facts.cwd = "/srv/job";
    snapshot.facts.run_dir = "/run/trainit";
    return resolve_in(tree, snapshot, request, rounds);
  }
  [[nodiscard]] Plan plan() const {
    const Answer answered = answer();
    if (const auto* planned = std::get_if<Planned>(&answered.outcome)) return planned->plan;
    const auto* error = std::get_if<base::Error>(&answered.outcome);
    ADD_FAILURE() << (error == nullptr ? "pending" : to_line(*error));
    return {};
  }
  [[nodiscard]] std::string error() const {
    const Answer answered = answer();
    const auto* error = std::get_if<base::Error>(&answered.outcome);
    EXPECT_NE(error, nullptr) << "no error";
    return error == nullptr ? "" : to_line(*error);
  }
};

// "pre-start: /a/x /a/y", one a group.
Words groups_of(const Plan& plan) {
  Words lines;
  for (const HookGroup& group : plan.hooks) {
    std::string line(name_of(group.event));
    for (const std::string& path : group.paths) line += " " + path;
    lines.push_back(line);
  }
  return lines;
}

std::string variable(const Plan& plan, std::string_view name) {
  base::Environ env;
  for (const base::EnvEdit& edit : plan.hook_env) env.apply(edit);
  return std::string(env.get_or(name, "(unset)"));
}

TEST(Hooks, CostOneLookWhereThereAreNone) {
  Job job;
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin"});
  EXPECT_THAT(resolve(snapshot, job.request).wants, ElementsAre(Want{kImage, true}));
  int rounds = 0;
  const Answer answer = job.answer(&rounds);
  EXPECT_EQ(rounds, 1);
  const Plan& plan = std::get<Planned>(answer.outcome).plan;
  EXPECT_THAT(plan.hooks, IsEmpty());
  EXPECT_THAT(plan.hook_env, IsEmpty());
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_EQ(plan.policy.pre_stop_ms, 0);
  EXPECT_EQ(plan.policy.post_stop_ms, 0);
}

TEST(Hooks, RunInTheOrderOfTheEventsAndOfTheirNames) {
  Job job;
  job.tree.program(kImage + "/post-stop.d/10-b").program(kImage + "/post-stop.d/9-a");
  job.tree.program(kImage + "/pre-start.d/Z").program(kImage + "/pre-start.d/a");
  job.tree.program(kImage + "/pre-start.d/\xc3\xa4");
  EXPECT_THAT(
      groups_of(job.plan()),
      ElementsAre("pre-start " + kImage + "/pre-start.d/Z " + kImage + "/pre-start.d/a " + kImage +
                      "/pre-start.d/\xc3\xa4",
                  "post-stop " + kImage + "/post-stop.d/10-b " + kImage + "/post-stop.d/9-a"));
}

TEST(Hooks, OfTheHooksDirectoryStandBetweenThoseOfTheImageAndReplaceThem) {
  Job job;
  job.request.hooks_dir = "hooks";  // below the working directory
  job.tree.program(kImage + "/pre-start.d/10-a").program(kImage + "/pre-start.d/30-c");
  job.tree.program(kImage + "/pre-start.d/40-d");
  job.tree.program("/srv/job/hooks/pre-start.d/20-b").program("/srv/job/hooks/pre-start.d/30-c");
  job.tree.null_link("/srv/job/hooks/pre-start.d/40-d");
  const Plan plan = job.plan();
  EXPECT_THAT(groups_of(plan),
              ElementsAre("pre-start " + kImage +
                          "/pre-start.d/10-a "
                          "/srv/job/hooks/pre-start.d/20-b /srv/job/hooks/pre-start.d/30-c"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(Hooks, AreNoGroupWhereAllOfThemWereTakenAway) {
  Job job;
  job.request.hooks_dir = "/hooks";
  job.tree.program(kImage + "/pre-start.d/a").null_link("/hooks/pre-start.d/a");
  EXPECT_THAT(job.plan().hooks, IsEmpty());
}

TEST(Hooks, WithoutARunBitAreNamedAndDoNotRun) {
  Job job;
  job.tree.file(kImage + "/pre-start.d/a", "#!/bin/sh\n").program(kImage + "/pre-start.d/b");
  const Plan plan = job.plan();
  EXPECT_THAT(groups_of(plan), ElementsAre("pre-start " + kImage + "/pre-start.d/b"));
  EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr(kImage + "/pre-start.d/a"),
                                               HasSubstr("no run bit"), HasSubstr("chmod +x"))));
}

TEST(Hooks, PassOverWhatEditorsAndPackagesLeaveBehind) {
  for (const char* name : {".hidden", "a~", "a.bak", "a.orig", "a.rej", ".a.swp", "a.swp",
                           "a.dpkg-old", "a.rpmsave", "a.rpmnew", "README.md", "notes.txt"}) {
    EXPECT_TRUE(is_passed_over(name)) << name;
    Job job;
    job.tree.program(kImage + "/pre-start.d/" + name).directory(kImage + "/pre-start.d/lib");
    EXPECT_THAT(job.plan().hooks, IsEmpty()) << name;
    EXPECT_THAT(job.plan().warnings, IsEmpty()) << name;
  }
  for (const char* name : {"a", "10-links.sh", "a.py", "dpkg-a", "rpm", "md", "a.b.c"}) {
    EXPECT_FALSE(is_passed_over(name)) << name;
  }
}

TEST(Hooks, InADirectoryOfAnotherNameAreAMistakeWorthAWord) {
  Job job;
  job.tree.program(kImage + "/prestart.d/a").directory(kImage + "/lib");
  const Plan plan = job.plan();
  EXPECT_THAT(plan.hooks, IsEmpty());
  EXPECT_THAT(plan.warnings, ElementsAre(AllOf(HasSubstr(kImage + "/prestart.d"),
                                               HasSubstr("pre-start.d, post-start.d"))));
}

TEST(Hooks, SayThatTheDirectoryThatWasNamedIsMissingOrNone) {
  Job job;
  job.request.hooks_dir = "/hooks";
  EXPECT_THAT(job.plan().warnings, ElementsAre(AllOf(HasSubstr("/hooks"), HasSubstr("not there"))));
  job.tree.file("/hooks", "");
  EXPECT_THAT(job.plan().warnings, ElementsAre(HasSubstr("no directory")));
}

TEST(Hooks, MayBeNamedByTheImagesOwnDirectory) {
  Job job;
  job.request.hooks_dir = kImage;
  job.tree.program(kImage + "/pre-start.d/a");
  EXPECT_THAT(job.plan().warnings, IsEmpty());
  EXPECT_THAT(job.plan().hooks, SizeIs(1));
}

TEST(Hooks, AreAtMostSoMany) {
  Job job;
  for (std::size_t i = 0; i <= kMaxHooks; ++i) {
    job.tree.program(kImage + "/pre-stop.d/" + std::to_string(i));
  }
  EXPECT_THAT(job.error(), AllOf(HasSubstr("pre-stop.d"), HasSubstr("257 hooks")));
}

TEST(LifecycleScript, IsCalledLastForEachEvent) {
  Job job;
  job.request.lifecycle_script = "bin/lifecycle";
  job.tree.program("/srv/job/bin/lifecycle").program(kImage + "/pre-stop.d/zz");
  const Plan plan = job.plan();
  // Not for the watches' events, which are no phases.
  ASSERT_THAT(plan.hooks, SizeIs(kHookEvents - 2));
  for (const HookGroup& group : plan.hooks) {
    EXPECT_EQ(group.script, "/srv/job/bin/lifecycle");
    EXPECT_EQ(group.paths.back(), group.script);
    EXPECT_EQ(has_own_hooks(plan, group.event), group.event == HookEvent::kPreStop);
  }
  EXPECT_THAT(groups_of(plan),
              Contains("pre-stop " + kImage + "/pre-stop.d/zz /srv/job/bin/lifecycle"));
}

TEST(LifecycleScript, ThatCannotRunIsAnError) {
  Job job;
  job.request.lifecycle_script = "/opt/script";
  EXPECT_THAT(job.error(), AllOf(HasSubstr("/opt/script"), HasSubstr("nothing there")));
  job.tree.file("/opt/script", "");
  EXPECT_THAT(job.error(), HasSubstr("cannot run"));
  job.tree = Tree().directory("/opt/script");
  EXPECT_THAT(job.error(), HasSubstr("no regular file"));
  job.tree = Tree().null_link("/opt/script");
  EXPECT_THAT(job.error(), HasSubstr("no regular file"));
}

TEST(HookTimes, AreTheEventsOwnUnlessAskedFor) {
  Job job;
  job.request.lifecycle_script = "/l";
  job.tree.program("/l");
  auto times = [&job] {
    std::vector<std::int64_t> list;
    for (const HookGroup& group : job.plan().hooks) list.push_back(group.timeout_ms);
    return list;
  };
  EXPECT_THAT(times(), ElementsAre(600'000, 600'000, 600'000, 600'000, 300'000, 60'000));
  job.request.policy.checkpoint_ms = 1000;
  EXPECT_EQ(times()[4], 1000);
  job.request.hook_timeouts = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(times(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(HookTimes, AreWithinAStopTheGracesShareForAllHooksOfTheEvent) {
  Job job;
  job.request.grace_ms = 40000;
  job.tree.program(kImage + "/pre-stop.d/a").program(kImage + "/post-stop.d/a");
  const Plan plan = job.plan();
  EXPECT_EQ(plan.policy.pre_stop_ms, 10000);
  EXPECT_EQ(plan.policy.post_stop_ms, 10000);
}

TEST(FatalHooks, ArePreStartsUnlessSaidOtherwise) {
  Job job;
  job.request.lifecycle_script = "/l";
  job.tree.program("/l");
  auto fatal = [&job] {
    Words names;
    for (const HookGroup& group : job.plan().hooks) {
      if (group.fatal) names.emplace_back(name_of(group.event));
    }
    return names;
  };
  EXPECT_THAT(fatal(), ElementsAre("pre-start"));
  job.request.fatal_hooks.emplace();
  EXPECT_THAT(fatal(), IsEmpty());
  job.request.fatal_hooks = {{HookEvent::kPostStart}};
  EXPECT_THAT(fatal(), ElementsAre("post-start"));
}

TEST(HookEnvironment, TellsThePlansFacts) {
  Job job;
  job.tree.program(kImage + "/pre-start.d/a");
  job.request.framework = "pytorch";
  job.request.hosts = "a:2,b:3";
  job.request.node_rank = 1;
  job.request.master_port = 29511;
  const Plan plan = job.plan();
  for (const auto& [name, value] : {std::pair{"TRAINIT_FRAMEWORK", "pytorch"},
                                    {"TRAINIT_PLATFORM", "bare"},
                                    {"TRAINIT_NODE_RANK", "1"},
                                    {"TRAINIT_NODE_COUNT", "2"},
                                    {"TRAINIT_WORLD_SIZE", "5"},
                                    {"TRAINIT_LOCAL_WORLD_SIZE", "3"},
                                    {"TRAINIT_MASTER_ADDR", "a"},
                                    {"TRAINIT_MASTER_PORT", "29511"},
                                    {"TRAINIT_HOSTS", "a,b"},
                                    {"TRAINIT_LOG_DIR", "/run/trainit/logs"},
                                    {"TRAINIT_RUN_DIR", "/run/trainit"}}) {
    EXPECT_EQ(variable(plan, name), value) << name;
  }
}

TEST(HookEnvironment, LeavesOutWhatNobodyTold) {
  Job job;
  job.tree.program(kImage + "/pre-start.d/a");
  const Plan plan = job.plan();
  EXPECT_EQ(variable(plan, "TRAINIT_NODE_COUNT"), "1");
  EXPECT_EQ(variable(plan, "TRAINIT_WORLD_SIZE"), "1");
  for (const char* name : {"TRAINIT_MASTER_ADDR", "TRAINIT_MASTER_PORT", "TRAINIT_HOSTS"}) {
    EXPECT_EQ(variable(plan, name), "(unset)") << name;
  }
}

TEST(HookEnvironment, HasNoListOfHostsThatExecWouldRefuse) {
  Job job;
  job.tree.program(kImage + "/pre-start.d/a");
  job.request.framework = "pytorch";
  job.request.node_rank = 0;
  for (int i = 0; i < 6000; ++i) {
    job.request.hosts +=
        (i == 0 ? "" : ",") + std::string("a-host-with-a-long-name-") + std::to_string(i) + ":1";
  }
  const Plan plan = job.plan();
  EXPECT_EQ(variable(plan, "TRAINIT_HOSTS"), "(unset)");
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("TRAINIT_HOSTS")));
}

TEST(Inputs, ADirectoryFirstLookedAtForItsKindIsWantedAgainForItsNames) {
  Snapshot snapshot;
  snapshot.paths["/d"].kind = PathState::Kind::kDirectory;
  const Request request;
  Inputs inputs(snapshot, request);
  EXPECT_NE(inputs.kind("/d"), nullptr);
  EXPECT_THAT(inputs.wants(), IsEmpty());
  EXPECT_EQ(inputs.content("/d"), nullptr);
  EXPECT_THAT(inputs.wants(), ElementsAre(Want{"/d", true}));
}

TEST(Inputs, AnEmptyDirectoryIsReadOnce) {
  Snapshot snapshot;
  snapshot.paths["/d"].kind = PathState::Kind::kDirectory;
  snapshot.paths["/d"].listed = true;
  const Request request;
  Inputs inputs(snapshot, request);
  EXPECT_NE(inputs.content("/d"), nullptr);
  EXPECT_THAT(inputs.wants(), IsEmpty());
  EXPECT_THAT(inputs.files_read(), IsEmpty());
}

}  // namespace
}  // namespace envgen
