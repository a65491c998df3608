#include "envgen/conda/conda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "envgen/conda/environment.h"
#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

constexpr const char* kRoot = "/opt/conda";
constexpr const char* kPrefix = "/opt/conda/envs/train";

// An installation with the environments base and train, in an image with a shell.
Tree installation() {
  Tree tree;
  tree.directory("/opt/conda/conda-meta").file("/opt/conda/bin/conda");
  tree.directory("/opt/conda/envs/train/conda-meta").directory("/opt/conda/condabin");
  return tree.file("/bin/bash").file("/bin/sh");
}

struct Job {
  Tree tree = installation();
  Words variables = {};
  Request request = {};
  Words command = {"python", "train.py"};

  [[nodiscard]] Snapshot snapshot() const {
    Snapshot result;
    Words entries = {"PATH=/usr/bin:/bin", "HOME=/root"};
    entries.insert(entries.end(), variables.begin(), variables.end());
    for (const std::string& entry : entries) {
      result.env.set(entry.substr(0, entry.find('=')), entry.substr(entry.find('=') + 1));
    }
    result.facts.cwd = "/srv/job";
    result.facts.run_dir = "/run/trainit";
    return result;
  }
  [[nodiscard]] Answer answer(int* rounds = nullptr) const {
    Request asked = request;
    asked.command = command;
    return resolve_in(tree, snapshot(), asked, rounds);
  }
  [[nodiscard]] Plan plan() const {
    Answer answered = answer();
    if (auto* planned = std::get_if<Planned>(&answered.outcome)) return planned->plan;
    auto* error = std::get_if<base::Error>(&answered.outcome);
    ADD_FAILURE() << (error == nullptr ? "pending" : to_line(*error));
    return {};
  }
  [[nodiscard]] std::string error() const {
    Answer answered = answer();
    auto* error = std::get_if<base::Error>(&answered.outcome);
    return error == nullptr ? "no error" : to_line(*error);
  }
  // As the job's process has it.
  [[nodiscard]] std::string variable(std::string_view name) const {
    base::Environ env = snapshot().env;
    for (const base::EnvEdit& edit : plan().env) env.apply(edit);
    return std::string(env.get_or(name, "(unset)"));
  }
  [[nodiscard]] std::string prefix() const { return variable("CONDA_PREFIX"); }
};

Words command_of(const Job& job) {
  const Plan plan = job.plan();
  return plan.processes.empty() ? Words{} : plan.processes[0].argv;
}

// --- when nothing of conda is asked for ---

TEST(Conda, LooksAtNothingUnlessItIsAskedFor) {
  for (const Words& variables :
       {Words{}, Words{"ANACONDA_DIR=/opt/conda"}, Words{"DEFAULT_CONDA_ENV_NAME=train"},
        Words{"CONDA_EXE=/opt/conda/bin/conda", "CONDA_SHLVL=0"},
        Words{"MAMBA_ROOT_PREFIX=/opt/conda"}}) {
    for (const Words& command : {Words{"python", "x.py"}, Words{"/opt/conda/bin/python"},
                                 Words{"bash", "-c", "export PATH=/opt/conda/envs/train/bin:$PATH"},
                                 Words{"conda", "env", "list"}}) {
      Job job{.variables = variables, .command = command};
      Request request;
      request.command = command;
      EXPECT_THAT(resolve(job.snapshot(), request).wants, ElementsAre(Want{kHooksDirectory, true}))
          << command[0];
      EXPECT_TRUE(is_pass_through(job.snapshot().env, request)) << command[0];
    }
  }
}

// --- the ways to ask ---

TEST(Conda, TheImageNamesTheEnvironmentOfItsInstallation) {
  const Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=train"}};
  EXPECT_EQ(job.prefix(), kPrefix);
  EXPECT_EQ(job.variable("PATH"), "/opt/conda/envs/train/bin:/opt/conda/condabin:/usr/bin:/bin");
}

TEST(Conda, AProgramOfAnEnvironmentNamesIt) {
  for (const char* program :
       {"/opt/conda/envs/train/bin/python", "/opt/conda/envs/train/bin/torchrun",
        "/opt/conda//envs/./train/bin/python"}) {
    const Job job{.command = {program, "x.py"}};
    EXPECT_EQ(job.prefix(), kPrefix) << program;
    EXPECT_EQ(job.variable("CONDA_EXE"), "/opt/conda/bin/conda");
    EXPECT_THAT(command_of(job), ElementsAre(program, "x.py"));
  }
}

TEST(Conda, AProgramElsewhereNamesNone) {
  for (const char* program :
       {"/opt/conda/bin/python", "/venvs/envs/plain/bin/python", "envs/train/bin/python",
        "/opt/conda/envs/train/lib/python", "/opt/conda/envs/bin/python"}) {
    Job job{.command = {program}};
    job.tree.directory("/venvs/envs/plain/bin");
    EXPECT_EQ(job.prefix(), "(unset)") << program;
  }
}

// An image inherits the name from its base.
TEST(Conda, AVirtualEnvironmentBeatsTheNameInTheImage) {
  Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=train",
                        "VIRTUAL_ENV=/opt/venv", "PATH=/opt/venv/bin:/usr/bin"}};
  EXPECT_EQ(job.prefix(), kPrefix) << "it is not there";
  job.tree.program("/opt/venv/bin/python");
  EXPECT_EQ(job.prefix(), "(unset)");
  EXPECT_EQ(job.variable("PATH"), "/opt/venv/bin:/usr/bin");
  EXPECT_THAT(job.plan().warnings, IsEmpty());
  job.request.conda_env = "train";
  EXPECT_EQ(job.prefix(), kPrefix);
  job.request.conda_env = "";
  job.command = {"/opt/conda/envs/train/bin/python", "x.py"};
  EXPECT_EQ(job.prefix(), kPrefix);
}

TEST(Conda, APythonByItsPathBeatsTheNameInTheImage) {
  Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=train"}};
  job.tree.file("/opt/venv/pyvenv.cfg").program("/opt/venv/bin/torchrun");
  for (const Words& command :
       {Words{"/venvs/envs/plain/bin/python"}, Words{"/opt/venv/bin/python", "x.py"},
        Words{"/usr/bin/python3.10", "x.py"}, Words{"venv/bin/python", "x.py"},
        Words{"env", "A=1", "/opt/venv/bin/python", "x.py"},
        Words{"bash", "-c", "cd /job && exec /opt/venv/bin/python x.py"},
        Words{"bash", "-c", "A=1 /opt/venv/bin/torchrun x.py"},
        Words{"/opt/venv/bin/torchrun", "x.py"}}) {
    job.command = command;
    EXPECT_EQ(job.prefix(), "(unset)") << command[0];
  }
  for (const Words& command :
       {Words{"python", "x.py", "/opt/venv/bin/python"}, Words{"/usr/bin/env", "python", "x.py"},
        Words{"/bin/bash", "run.sh"}, Words{"torchrun", "x.py"},
        Words{"bash", "-c", "/usr/bin/python3 a.py; python x.py"},
        Words{"./run", "--src", "/work/python3"}, Words{"./run", "--src", "/w/python3", "x.py"}}) {
    job.command = command;
    EXPECT_EQ(job.prefix(), kPrefix) << command.back();
  }
}

TEST(Conda, TheOptionBeatsTheProgramAndTheImage) {
  Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=train"},
          .command = {"/opt/conda/envs/train/bin/python"}};
  job.request.conda_env = "other";
  job.tree.directory("/opt/conda/envs/other/conda-meta");
  EXPECT_EQ(job.prefix(), "/opt/conda/envs/other");
}

TEST(Conda, TheOptionTakesANameAPrefixAndBase) {
  const struct {
    const char* option;
    const char* prefix;
    const char* name;
  } cases[] = {
      {"train", "/opt/conda/envs/train", "train"},
      {"/opt/conda/envs/train/", "/opt/conda/envs/train", "train"},
      {"../../data/./env", "/data/env", "/data/env"},
      {"~/env", "/root/env", "/root/env"},
      {"base", "/opt/conda", "base"},
      {"/opt/conda", "/opt/conda", "base"},
  };
  for (const auto& [option, prefix, name] : cases) {
    Job job;
    job.tree.directory("/data/env/conda-meta").directory("/root/env/conda-meta");
    job.request.conda_env = option;
    job.request.conda_dir = kRoot;
    EXPECT_EQ(job.prefix(), prefix) << option;
    EXPECT_EQ(job.variable("CONDA_DEFAULT_ENV"), name) << option;
    EXPECT_EQ(job.variable("CONDA_PROMPT_MODIFIER"), "(" + std::string(name) + ") ") << option;
  }
}

TEST(Conda, TheInstallationIsFoundByItsTraces) {
  const Words traces[] = {{"CONDA_EXE=/opt/conda/bin/conda"},
                          {"MAMBA_ROOT_PREFIX=/opt/conda"},
                          {"PATH=/usr/bin:/opt/conda/bin"},
                          {"PATH=/opt/conda/condabin:/usr/bin"}};
  for (const Words& variables : traces) {
    Job job{.variables = variables};
    job.request.conda_env = "train";
    EXPECT_EQ(job.prefix(), kPrefix) << variables[0];
  }
}

TEST(Conda, ALinkToCondaElsewhereIsNoInstallation) {
  Job job{.variables = {"CONDA_EXE=/usr/bin/conda", "PATH=/opt/conda/bin"}};
  job.request.conda_env = "train";
  EXPECT_EQ(job.prefix(), kPrefix);
}

TEST(Conda, MicromambaHasNoCondaToPointAt) {
  Job job{.tree = Tree().directory("/opt/mamba/envs/train/conda-meta"),
          .variables = {"MAMBA_ROOT_PREFIX=/opt/mamba"}};
  job.request.conda_env = "train";
  EXPECT_EQ(job.prefix(), "/opt/mamba/envs/train");
  EXPECT_EQ(job.variable("CONDA_EXE"), "(unset)");
  EXPECT_EQ(job.variable("PATH"), "/opt/mamba/envs/train/bin:/usr/bin:/bin");
}

TEST(Conda, EnvironmentsLieWhereCondaLooks) {
  const struct {
    const char* why;
    Words variables;
    const char* file;
    const char* content;
    const char* prefix;
  } cases[] = {
      {"CONDA_ENVS_DIRS", {"CONDA_ENVS_DIRS=/a:/b"}, "/x", "", "/b/far"},
      {"CONDA_ENVS_PATH", {"CONDA_ENVS_PATH=~/e"}, "/x", "", "/root/e/far"},
      {"the user's .condarc",
       {},
       "/root/.condarc",
       "envs_dirs:\n  - /data/envs\n",
       "/data/envs/far"},
      {"the root's", {}, "/opt/conda/.condarc", "envs_dirs: [/d]\n", "/d/far"},
      {"the system's", {}, "/etc/conda/.condarc", "envs_dirs:\n- ${HOME}/e\n", "/root/e/far"},
      {"CONDARC", {"CONDARC=/my.rc"}, "/my.rc", "envs_dirs: [~/q]", "/root/q/far"},
      {"the user's own", {}, "/x", "", "/root/.conda/envs/far"},
      {"environments.txt",
       {},
       "/root/.conda/environments.txt",
       "/opt/conda\n/else/far\n",
       "/else/far"},
  };
  for (const auto& one : cases) {
    Job job{.variables = one.variables};
    job.request.conda_env = "far";
    job.request.conda_dir = kRoot;
    job.tree.file(one.file, one.content).directory(std::string(one.prefix) + "/conda-meta");
    EXPECT_EQ(job.prefix(), one.prefix) << one.why;
  }
}

TEST(Conda, TheFirstOfTwoPlacesWins) {
  Job job{.variables = {"CONDA_ENVS_DIRS=/first"}};
  job.request.conda_env = "train";
  job.request.conda_dir = kRoot;
  job.tree.directory("/first/train/conda-meta");
  EXPECT_EQ(job.prefix(), "/first/train");
}

TEST(Conda, LooksInAFewRounds) {
  Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=train"}};
  job.tree.file("/opt/conda/envs/train/etc/conda/activate.d/a.sh");
  job.tree.file("/opt/conda/envs/train/etc/conda/env_vars.d/a.json", R"({"A": "1"})");
  int rounds = 0;
  EXPECT_TRUE(std::holds_alternative<Planned>(job.answer(&rounds).outcome));
  EXPECT_LE(rounds, 5);
}

// --- what does not exist ---

TEST(Conda, AMissingEnvironmentSaysWhichOnesExist) {
  Job job;
  job.request.conda_env = "trian";
  job.request.conda_dir = kRoot;
  job.tree.directory("/opt/conda/envs/empty").directory("/root/.conda/envs/mine/conda-meta");
  job.tree.file("/root/.conda/environments.txt", "/opt/conda\n/data/far\n/gone\n");
  job.tree.directory("/data/far/conda-meta");
  EXPECT_THAT(job.error(), AllOf(HasSubstr("--conda-env trian"), HasSubstr("/opt/conda/envs"),
                                 HasSubstr("these exist: /data/far, base, mine, train")));
  EXPECT_THAT(job.error(), Not(HasSubstr("empty")));
}

TEST(Conda, AMissingPrefixDoesTheSame) {
  Job job;
  job.request.conda_env = "/data/env";
  job.request.conda_dir = kRoot;
  EXPECT_THAT(job.error(), AllOf(HasSubstr("/data/env"), HasSubstr("conda-meta"),
                                 HasSubstr("these exist: base, train")));
}

TEST(Conda, AMissingInstallationSaysHowToNameIt) {
  Job job{.tree = Tree().file("/bin/sh")};
  job.request.conda_env = "train";
  EXPECT_THAT(job.error(), HasSubstr("--conda-dir"));
}

TEST(Conda, TheImagesChoiceMayBeMissingToo) {
  const Job job{.variables = {"ANACONDA_DIR=/opt/conda", "DEFAULT_CONDA_ENV_NAME=old"}};
  EXPECT_THAT(job.error(), AllOf(HasSubstr("DEFAULT_CONDA_ENV_NAME old"), HasSubstr("train")));
}

// --- conda run ---

TEST(CondaRun, IsUnwrapped) {
  const Words cases[] = {
      {"/opt/conda/bin/conda", "run", "-n", "train", "python", "-u", "x.py"},
      {"/opt/conda/condabin/conda", "run", "--name=train", "python", "-u", "x.py"},
      {"/opt/conda/bin/mamba", "run", "-ntrain", "--", "python", "-u", "x.py"},
      {"/opt/conda/bin/conda", "run", "-p", "/opt/conda/envs/train", "python", "-u", "x.py"},
      {"/opt/conda/bin/conda", "run", "--prefix", "/opt/conda/envs/train", "-vv", "python", "-u",
       "x.py"},
      {"/opt/conda/bin/conda", "run", "--no-capture-output", "-n", "train", "-v", "python", "-u",
       "x.py"},
      {"/opt/conda/bin/conda", "run", "--live-stream", "-s", "-n", "train", "python", "-u", "x.py"},
      {"/opt/conda/bin/micromamba", "run", "-a", "stdout", "-n", "train", "python", "-u", "x.py"},
  };
  for (const Words& command : cases) {
    const Job job{.command = command};
    EXPECT_THAT(command_of(job), ElementsAre("python", "-u", "x.py")) << command[2];
    EXPECT_EQ(job.prefix(), kPrefix) << command[2];
    EXPECT_THAT(job.plan().warnings, IsEmpty());
  }
}

TEST(CondaRun, ABareNameIsFoundByThePath) {
  const Job job{.variables = {"PATH=/usr/bin:/opt/conda/bin"},
                .command = {"conda", "run", "-n", "train", "x"}};
  EXPECT_EQ(job.prefix(), kPrefix);
}

TEST(CondaRun, TakesTheDirectory) {
  for (const Words& option :
       {Words{"--cwd", "/data"}, Words{"--cwd=/data"}, Words{"--cwd", "../../data"}}) {
    Words command = {"/opt/conda/bin/conda", "run", "-n", "train"};
    command.insert(command.end(), option.begin(), option.end());
    command.emplace_back("pwd");
    const Plan plan = Job{.command = command}.plan();
    ASSERT_EQ(plan.processes.size(), 1U);
    EXPECT_EQ(conda::normal_path(plan.processes[0].cwd), "/data");
  }
}

TEST(CondaRun, WithoutANameIsTheActiveOneElseBase) {
  Job job{.command = {"/opt/conda/bin/conda", "run", "x"}};
  EXPECT_EQ(job.prefix(), "/opt/conda");
  job.variables = {"CONDA_SHLVL=1", "CONDA_PREFIX=/opt/conda/envs/train"};
  EXPECT_EQ(job.prefix(), kPrefix);
}

TEST(CondaRun, StaysWhenAnOptionCannotBeTakenOver) {
  for (const char* option : {"--dev", "--detach", "-e", "--name-of"}) {
    const Words command = {"/opt/conda/bin/conda", "run", option, "-n", "train", "x"};
    const Job job{.command = command};
    EXPECT_EQ(command_of(job), command);
    EXPECT_THAT(job.plan().warnings, ElementsAre(HasSubstr(option)));
    EXPECT_EQ(job.prefix(), "(unset)");
  }
}

TEST(CondaRun, OtherCommandsAreNone) {
  for (const Words& command :
       {Words{"conda", "run"}, Words{"conda", "install", "x"}, Words{"x", "run", "y"},
        Words{"conda", "run", "-n"}, Words{"conda", "run", "-n", "train"},
        Words{"conda", "run", "-n", "train", "--"}}) {
    EXPECT_FALSE(conda::parse_run(command).has_value()) << command.back();
  }
}

TEST(CondaRun, AnEmptyNameIsNone) {
  for (const Words& command :
       {Words{"conda", "run", "-n", "", "x"}, Words{"conda", "run", "--prefix=", "x"},
        Words{"conda", "run", "-n", "train", "-n", "", "x"}}) {
    auto run = conda::parse_run(command);
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->environment, "") << command[2];
    EXPECT_EQ(run->option, "") << command[2];
  }
}

TEST(CondaRun, BeatsTheOptionWithAWarning) {
  Job job{.command = {"/opt/conda/bin/conda", "run", "-n", "train", "x"}};
  job.request.conda_env = "base";
  EXPECT_EQ(job.prefix(), kPrefix);
  EXPECT_THAT(job.plan().warnings, ElementsAre(HasSubstr("--conda-env base")));
}

TEST(CondaRun, AMissingEnvironmentNamesTheCommand) {
  const Job job{.command = {"/opt/conda/bin/conda", "run", "-n", "no", "x"}};
  EXPECT_THAT(job.error(), AllOf(HasSubstr("conda run -n no"), HasSubstr("train")));
}

// --- .condarc ---

TEST(Condarc, HasOneListThatCounts) {
  const struct {
    const char* text;
    Words dirs;
  } cases[] = {
      {"", {}},
      {"channels:\n  - conda-forge\n", {}},
      {"envs_dirs:\n  - /a\n  - /b\nchannels:\n  - c\n", {"/a", "/b"}},
      {"channels:\n- c\nenvs_dirs:\n- /a\n# note\n\n- /b # here\nalways_yes: true\n", {"/a", "/b"}},
      {"envs_dirs: [/a, \"/b c\", '/d']  # x\n", {"/a", "/b c", "/d"}},
      {"envs_dirs:\r\n  - \"/a\"\r\n", {"/a"}},
      {"envs_dirs: /a\n", {"/a"}},
      {"envs_path:\n  - /a#b\n", {"/a#b"}},
      {"other:\n  envs_dirs:\n    - /a\n", {}},
      {"envs_dirs: []\n", {}},
      {"envs_dirs: [", {}},
      {"envs_dirs: [/a]  # [the disk]\n", {"/a"}},
      {"envs_dirs: [\"/a, b\", '/c]', /it's]\n", {"/a, b", "/c]", "/it's"}},
      {"envs_dirs:\n  -\n  - ''\n", {}},
  };
  for (const auto& [text, dirs] : cases) EXPECT_EQ(conda::condarc_envs_dirs(text), dirs) << text;
}

// --- activation; tests/rules compares it with what a shell does ---

Job active(const char* prefix, const char* path) {
  Job job{.variables = {"CONDA_SHLVL=1", std::string("CONDA_PREFIX=") + prefix,
                        "CONDA_DEFAULT_ENV=x", std::string("PATH=") + path}};
  job.request.conda_env = "train";
  job.request.conda_dir = kRoot;
  return job;
}

TEST(Activate, ReplacesTheActiveEnvironmentInPlace) {
  const Job job = active(kRoot, "/mine:/opt/conda/bin/:/usr/bin");
  EXPECT_EQ(job.variable("PATH"), "/mine:/opt/conda/envs/train/bin:/usr/bin");
  EXPECT_EQ(job.variable("CONDA_SHLVL"), "2");
  EXPECT_EQ(job.variable("CONDA_PREFIX_1"), "/opt/conda");
}

TEST(Activate, TheSameAgainDoesNotGrowThePath) {
  const Job job = active(kPrefix, "/mine:/opt/conda/envs/train/bin:/usr/bin");
  EXPECT_EQ(job.variable("PATH"), "/mine:/opt/conda/envs/train/bin:/usr/bin");
  EXPECT_EQ(job.variable("CONDA_SHLVL"), "1");
  EXPECT_EQ(job.variable("CONDA_PREFIX_1"), "(unset)");
  EXPECT_EQ(job.variable("CONDA_PROMPT_MODIFIER"), "(x) ");
}

TEST(Activate, TheFirstElementIsNotLostWhenTheOldOneIsNotThere) {
  EXPECT_EQ(active(kRoot, "/mine:/usr/bin").variable("PATH"),
            "/opt/conda/envs/train/bin:/mine:/usr/bin");
}

TEST(Activate, AnEmptyElementOfThePathBecomesVisible) {
  EXPECT_EQ(active(kRoot, ":/usr/bin").variable("PATH"), "/opt/conda/envs/train/bin:.:/usr/bin");
}

TEST(Activate, ALevelThatIsNoNumberIsNone) {
  Job job = active(kRoot, "/usr/bin");
  job.variables.emplace_back("CONDA_SHLVL=many");
  EXPECT_EQ(job.variable("CONDA_SHLVL"), "1");
}

TEST(Activate, ScriptsAreSourcedInTheOrderOfTheirNames) {
  Job job = active(kRoot, "/usr/bin");
  for (const char* name : {"b.sh", "a.sh", "c.fish"}) {
    job.tree.file(std::string("/opt/conda/envs/train/etc/conda/activate.d/") + name);
    job.tree.file(std::string("/opt/conda/etc/conda/deactivate.d/") + name);
  }
  const Plan plan = job.plan();
  EXPECT_THAT(plan.scripts, ElementsAre("/opt/conda/envs/train/etc/conda/activate.d/a.sh",
                                        "/opt/conda/envs/train/etc/conda/activate.d/b.sh"));
  EXPECT_THAT(plan.leave_scripts, ElementsAre("/opt/conda/etc/conda/deactivate.d/b.sh",
                                              "/opt/conda/etc/conda/deactivate.d/a.sh"));
  EXPECT_EQ(plan.shell, "/bin/bash");
}

TEST(Activate, WithoutBashScriptsGetSh) {
  Job job{.tree = Tree().file("/bin/sh").directory("/opt/conda/envs/train/conda-meta")};
  job.tree.file("/opt/conda/envs/train/etc/conda/activate.d/a.sh");
  job.command = {"/opt/conda/envs/train/bin/python"};
  EXPECT_EQ(job.plan().shell, "/bin/sh");
}

TEST(Activate, WithoutAShellTheScriptsAreNamed) {
  Job job{.tree = Tree().directory("/opt/conda/envs/train/conda-meta")};
  job.tree.file("/opt/conda/envs/train/etc/conda/activate.d/gdal.sh");
  job.command = {"/opt/conda/envs/train/bin/python"};
  EXPECT_THAT(job.plan().warnings, ElementsAre(HasSubstr("activate.d/gdal.sh")));
  EXPECT_EQ(job.plan().shell, "");
}

TEST(Activate, WithoutScriptsNoShellIsLookedFor) {
  Job job{.tree = Tree().directory("/opt/conda/envs/train/conda-meta")};
  job.command = {"/opt/conda/envs/train/bin/python"};
  EXPECT_THAT(job.plan().warnings, IsEmpty());
}

TEST(Activate, PackagesVariablesComeFirstThenTheUsers) {
  Job job{.command = {"/opt/conda/envs/train/bin/python"}};
  job.tree.file("/opt/conda/envs/train/etc/conda/env_vars.d/1.json", R"({"A": "1", "B": "1"})");
  job.tree.file("/opt/conda/envs/train/etc/conda/env_vars.d/2.json", R"({"B": "2", "C": "2"})");
  job.tree.file("/opt/conda/envs/train/conda-meta/state",
                R"({"env_vars": {"C": "3", "A": "***unset***"}})");
  EXPECT_EQ(job.variable("A"), "(unset)");
  EXPECT_EQ(job.variable("B"), "2");
  EXPECT_EQ(job.variable("C"), "3");
}

TEST(Activate, WhatIsOverwrittenIsKeptAndTold) {
  Job job{.variables = {"A=old", "B=same"}, .command = {"/opt/conda/envs/train/bin/python"}};
  job.tree.file("/opt/conda/envs/train/conda-meta/state",
                R"({"env_vars": {"A": "new", "B": "same"}})");
  EXPECT_EQ(job.variable("A"), "new");
  EXPECT_EQ(job.variable("__CONDA_SHLVL_0_A"), "old");
  EXPECT_EQ(job.variable("__CONDA_SHLVL_0_B"), "same");
  EXPECT_THAT(job.plan().warnings, ElementsAre(AllOf(HasSubstr(" A"), Not(HasSubstr("B")))));
}

TEST(Activate, NamesAreExportedInCapitals) {
  Job job{.command = {"/opt/conda/envs/train/bin/python"}};
  job.tree.file("/opt/conda/envs/train/conda-meta/state", R"({"env_vars": {"my_home": "1"}})");
  EXPECT_EQ(job.variable("MY_HOME"), "1");
  EXPECT_EQ(job.variable("my_home"), "(unset)");
}

TEST(Activate, APathOfTheEnvironmentsOwnIsLeftOut) {
  Job job{.command = {"/opt/conda/envs/train/bin/python"}};
  job.tree.file("/opt/conda/envs/train/conda-meta/state",
                R"({"env_vars": {"PATH": "/x", "a.b": "1"}})");
  EXPECT_THAT(job.variable("PATH"), testing::EndsWith(":/usr/bin:/bin"));
  EXPECT_THAT(job.plan().warnings, ElementsAre(HasSubstr("PATH"), HasSubstr("a.b")));
}

TEST(Activate, AStateThatCannotBeReadIsAnError) {
  Job job{.command = {"/opt/conda/envs/train/bin/python"}};
  job.tree.file("/opt/conda/envs/train/conda-meta/state", "{");
  EXPECT_THAT(job.error(), HasSubstr("/opt/conda/envs/train/conda-meta/state"));
}

// --- libraries ---

TEST(CondaLibraries, ComeRightAfterTheDrivers) {
  Job job{.variables = {"LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/mine"},
          .command = {"/opt/conda/envs/train/bin/python"}};
  EXPECT_EQ(job.variable("LD_LIBRARY_PATH"),
            "/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/opt/conda/envs/train/lib:/mine");
}

TEST(CondaLibraries, CanBeTurnedOff) {
  Job job{.command = {"/opt/conda/envs/train/bin/python"}};
  job.request.conda_lib = false;
  EXPECT_EQ(job.variable("LD_LIBRARY_PATH"), "(unset)");
}

TEST(WithLibraryDirs, KeepsDriversInFrontAndLeavesNoHole) {
  const struct {
    const char* list;
    const char* result;
  } cases[] = {
      {"", "/e/lib"},
      {"/a:/b", "/e/lib:/a:/b"},
      {":/a::/b:", "/e/lib:/a:/b"},
      {"/a:/a/:/b", "/e/lib:/a:/b"},
      {"/e/lib", "/e/lib"},
      {"/a:/e/lib/", "/e/lib:/a"},
      {"/usr/local/Ascend/driver/lib64/:/a", "/usr/local/Ascend/driver/lib64/:/e/lib:/a"},
      {"/a:/usr/local/nvidia/lib64:/b", "/a:/usr/local/nvidia/lib64:/e/lib:/b"},
      {"/e/lib:/usr/local/nvidia/lib64", "/usr/local/nvidia/lib64:/e/lib"},
      {"/usr/local/nvidia/lib64x", "/e/lib:/usr/local/nvidia/lib64x"},
  };
  for (const auto& [list, result] : cases)
    EXPECT_EQ(with_library_dirs(list, {"/e/lib"}), result) << list;
}

TEST(WithPlannedLibraries, PutsThePlansBehindTheScripts) {
  const struct {
    const char* before;
    const char* planned;
    const char* after;
    const char* result;
  } cases[] = {
      {"/a", "/e/lib:/a", "/a", "/e/lib:/a"},
      {"/a", "/e/lib:/a", "/tool:/a", "/e/lib:/tool:/a"},
      {"", "/e/lib", "", "/e/lib"},
      {"/a", "/a", "", ""},
      {"/a", "/a", "::x", "::x"},
      {"/a", "/usr/local/Ascend/driver/lib64:/e/lib:/a", "/tool:/usr/local/Ascend/driver/lib64/:/a",
       "/tool:/usr/local/Ascend/driver/lib64/:/e/lib:/a"},
  };
  for (const auto& [before, planned, after, result] : cases) {
    EXPECT_EQ(with_planned_libraries(before, planned, after), result) << after;
  }
}

TEST(NormalPath, IsPythons) {
  const struct {
    const char* path;
    const char* normal;
  } cases[] = {{"", "."},         {"/", "/"},       {"/a/", "/a"}, {"/a//b/./c", "/a/b/c"},
               {"/a/../b", "/b"}, {"/../a", "/a"},  {"a/..", "."}, {"../a/../../b", "../../b"},
               {"./a", "a"},      {"/a b/", "/a b"}};
  for (const auto& [path, normal] : cases) EXPECT_EQ(conda::normal_path(path), normal) << path;
}

class Activation : public testing::TestWithParam<Words> {};

TEST_P(Activation, ThatFailsIsAWarningWithTheOption) {
  Job job;
  job.command = GetParam();
  EXPECT_THAT(job.plan().warnings, Contains(HasSubstr("use --conda-env train "
                                                      "(TRAINIT_CONDA_ENV=train) with the command: "
                                                      "python t.py")));
}
INSTANTIATE_TEST_SUITE_P(
    OfAShell, Activation,
    testing::Values(Words{"bash", "-c", "conda activate train && python t.py"},
                    Words{"/bin/sh", "-ec", "conda activate train; python t.py"},
                    Words{"env", "A=1", "bash", "-c",
                          "/opt/conda/bin/conda activate train; python t.py"},
                    Words{"conda", "activate", "train", "&&", "python", "t.py"}));

TEST(Conda, AnActivationThatTheOptionHasDoneIsToBeLeftOut) {
  Job job{.variables = {"ANACONDA_DIR=/opt/conda"},
          .command = {"bash", "-c", "conda activate train && python t.py"}};
  job.request.conda_env = "train";
  EXPECT_THAT(
      job.plan().warnings,
      ElementsAre(HasSubstr("leave it out of the command; --conda-env train has activated")));
}

TEST(Conda, AnActivationThatMayWorkIsNoWarning) {
  Job job;
  for (const Words& command :
       {Words{"bash", "-lc", "conda activate train && python t.py"},
        Words{"bash", "--login", "-c", "conda activate train && python t.py"},
        Words{"bash", "-c",
              ". /opt/conda/etc/profile.d/conda.sh; conda activate train; python t.py"},
        Words{"bash", "-c", "python t.py"},
        Words{"python", "t.py", "conda", "activate", "train"}}) {
    job.command = command;
    EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("conda activate")))) << command[2];
  }
  job.variables = {"BASH_ENV=/etc/bash.bashrc"};
  job.command = {"bash", "-c", "conda activate train && python t.py"};
  EXPECT_THAT(job.plan().warnings, Not(Contains(HasSubstr("conda activate"))));
}

}  // namespace
}  // namespace envgen
