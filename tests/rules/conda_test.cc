// A conda-shaped installation on a disk, and what a job of trainit has of it: variable by variable
// what a shell has that goes through the steps of `conda activate` (conda_activate.sh).

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>

#include "base/json.h"
#include "tests/rules/job.h"
#include "tests/source_path.h"

namespace {

using rules::joined;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string>;
// NAME and value, in the order of their files.
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kUnset = "***unset***";

std::string json_of(const Settings& settings) {
  base::json::Writer out;
  out.begin_object();
  for (const auto& [name, value] : settings) out.key(name).string(value);
  out.end_object();
  return std::move(out).take();
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

Variables variables_in(const std::string& bytes) {
  Variables variables;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    const std::string entry = bytes.substr(at, end - at);
    variables[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
    at = end + 1;
  }
  // A shell's own.
  for (const char* name : {"PWD", "OLDPWD", "SHLVL", "_", "TRAINIT_RESTART_COUNT"}) {
    variables.erase(name);
  }
  return variables;
}

class Conda : public rules::JobTest {
 protected:
  Conda() {
    make_environment(root());
    make_environment(train());
    directory("conda/bin");
    write("conda/bin/conda", "#!/bin/sh\ntouch " + path("conda-was-called") + "\n", 0755);
    directory("conda/condabin");
  }

  [[nodiscard]] std::string root() const { return path("conda"); }
  [[nodiscard]] std::string train() const { return path("conda/envs/train"); }

  void directory(const std::string& name) const {
    ASSERT_TRUE(sys::make_directories(path(name), 0755));
  }
  void make_environment(const std::string& prefix) const {
    for (const char* part : {"/conda-meta", "/bin", "/lib", "/etc/conda/env_vars.d",
                             "/etc/conda/activate.d", "/etc/conda/deactivate.d"}) {
      ASSERT_TRUE(sys::make_directories(prefix + part, 0755));
    }
  }

  void package(const std::string& name, const Settings& settings) {
    write("conda/envs/train/etc/conda/env_vars.d/" + name, json_of(settings));
    told_.insert(told_.end(), settings.begin(), settings.end());
  }
  // After the packages.
  void state(const Settings& settings) {
    write("conda/envs/train/conda-meta/state",
          R"({"version": 1, "env_vars": )" + json_of(settings) + "}");
    told_.insert(told_.end(), settings.begin(), settings.end());
  }
  void activate_script(const std::string& name, const std::string& text) const {
    write("conda/envs/train/etc/conda/activate.d/" + name, text);
  }

  // What a shell has after the steps.
  Variables by_steps(const Words& env, const std::string& prefix) const {
    std::string text;
    for (const auto& [name, value] : told_) {
      text += value == kUnset ? "dropped " + name + "\n"
                              : "variable " + name + " " + quoted(value) + "\n";
    }
    const std::string steps = source_path("tests/rules/conda_activate.sh");
    const Result result =
        rules::run({.args = {"/bin/bash", steps, prefix, root(), write("told", text)},
                    .env = env,
                    .pid1 = false,
                    .program = "/bin/bash"});
    EXPECT_EQ(result.code, 0) << result.err;
    return variables_in(result.out);
  }
  // What a job has.
  Variables by_trainit(const Words& env, const Words& options) const {
    const Words args = joined(options, {"--", "/usr/bin/env", "-0"});
    const Result result = rules::run({.args = args, .env = env, .pid1 = false});
    EXPECT_EQ(result.code, 0) << result.err;
    return variables_in(result.out);
  }
  // Both, of the environment `prefix`; returns what the job has.
  Variables same_as_steps(const Words& more, std::string prefix = "") const {
    if (prefix.empty()) prefix = train();
    const Words all = joined(env(), more);
    const Variables job =
        by_trainit(all, {"--conda-dir", root(), "--conda-env", prefix, "--no-conda-lib"});
    EXPECT_EQ(job, by_steps(all, prefix));
    return job;
  }
  [[nodiscard]] Words active(const std::string& prefix, int level, const std::string& name) const {
    return {"PATH=/first:" + prefix + "/bin:" + root() + "/condabin:/usr/bin:/bin",
            "CONDA_SHLVL=" + std::to_string(level), "CONDA_PREFIX=" + prefix,
            "CONDA_DEFAULT_ENV=" + name, "CONDA_PROMPT_MODIFIER=(" + name + ") "};
  }
  // The variables of JobTest with these instead.
  [[nodiscard]] Words replaced(const Words& with) const {
    Words result;
    for (const std::string& entry : env()) {
      if (!entry.starts_with("PATH=")) result.push_back(entry);
    }
    return joined(result, with);
  }
  Variables same_from(const Words& base, const std::string& prefix) const {
    const Variables job =
        by_trainit(base, {"--conda-dir", root(), "--conda-env", prefix, "--no-conda-lib"});
    EXPECT_EQ(job, by_steps(base, prefix));
    return job;
  }

  Settings told_;
};

// --- the same as a shell ---

TEST_F(Conda, PlainActivation) {
  package("a.json", {{"A", "1"}});
  activate_script("x.sh", "export FROM_SCRIPT=$CONDA_PREFIX:$A\n");
  const Variables job = same_as_steps({});
  EXPECT_EQ(job.at("CONDA_PREFIX"), train());
  EXPECT_EQ(job.at("CONDA_SHLVL"), "1");
  EXPECT_EQ(job.at("FROM_SCRIPT"), train() + ":1");
}

TEST_F(Conda, TheRootAndAPrefixElsewhere) {
  EXPECT_EQ(same_as_steps({}, root()).at("CONDA_DEFAULT_ENV"), "base");
  make_environment(path("far/env"));
  EXPECT_EQ(same_as_steps({}, path("far/env")).at("CONDA_DEFAULT_ENV"), path("far/env"));
}

TEST_F(Conda, WithBaseActiveBefore) {
  write("conda/etc/conda/deactivate.d/1.sh", "export LEFT=${LEFT-}1:$CONDA_PREFIX OLD=${OLD}x\n");
  write("conda/etc/conda/deactivate.d/2.sh", "export LEFT=${LEFT-}2\nunset GONE\n");
  activate_script("x.sh", "export SEEN=$LEFT:${GONE-gone}:$OLD\n");
  state({{"OLD", "from the state"}});
  const Variables job = same_from(
      replaced(joined(active(root(), 1, "base"), {"OLD=before", "GONE=not yet"})), train());
  EXPECT_EQ(job.at("CONDA_SHLVL"), "2");
  EXPECT_EQ(job.at("CONDA_PREFIX_1"), root());
  EXPECT_EQ(job.at("PATH"), "/first:" + train() + "/bin:" + root() + "/condabin:/usr/bin:/bin");
  EXPECT_EQ(job.at("SEEN"), "21:" + root() + ":gone:from the state");
  EXPECT_EQ(job.at("__CONDA_SHLVL_1_OLD"), "before");
}

TEST_F(Conda, WithTwoLevelsActiveBefore) {
  make_environment(path("conda/envs/other"));
  const Words base =
      joined(active(path("conda/envs/other"), 2, "other"), {"CONDA_PREFIX_1=" + root()});
  EXPECT_EQ(same_from(replaced(base), train()).at("CONDA_SHLVL"), "3");
  EXPECT_EQ(same_from(replaced(base), root()).at("CONDA_PREFIX_2"), path("conda/envs/other"));
}

TEST_F(Conda, TheSameEnvironmentAgain) {
  state({{"A", "state"}});
  write("conda/envs/train/etc/conda/deactivate.d/x.sh", "unset B\n");
  activate_script("x.sh", "export B=${B-again}\n");
  const Variables job =
      same_from(replaced(joined(active(train(), 1, "train"), {"A=user", "B=user"})), train());
  EXPECT_EQ(job.at("CONDA_SHLVL"), "1");
  EXPECT_EQ(job.at("A"), "user");
  EXPECT_EQ(job.at("B"), "again");
  EXPECT_EQ(job.count("CONDA_PREFIX_1"), 0U);
}

TEST_F(Conda, AnActiveEnvironmentThatIsNotInThePath) {
  Words base = active(root(), 1, "base");
  base[0] = "PATH=/usr/bin:/bin";
  same_from(replaced(base), train());
}

TEST_F(Conda, UnsetVariables) {
  package("1.json", {{"A", "1"}, {"B", "1"}});
  package("2.json", {{"B", "2"}, {"C", "2"}});
  state({{"A", kUnset}, {"C", "3"}, {"D", kUnset}});
  const Variables job = same_as_steps({"D=user"});
  EXPECT_EQ(job.count("A"), 0U);
  EXPECT_EQ(job.at("D"), "user");
}

TEST_F(Conda, ClobberedVariables) {
  package("1.json", {{"A", "new"}, {"B", "same"}});
  state({{"C", "new"}, {"EMPTY", "new"}});
  const Variables job = same_as_steps({"A=old", "B=same", "C=odd \xff\n'\"", "EMPTY="});
  EXPECT_EQ(job.at("__CONDA_SHLVL_0_C"), "odd \xff\n'\"");
  EXPECT_EQ(job.at("__CONDA_SHLVL_0_EMPTY"), "");
}

TEST_F(Conda, OddValues) {
  package("1.json", {{"LINES_", "one\ntwo\n"},
                     {"QUOTES", "'single' \"double\" `back` $HOME \\ \\n"},
                     {"SPACES", "  a  b\t"},
                     {"EMPTY", ""},
                     {"UTF8", "gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD"}});
  activate_script("with space's.sh",
                  "export BYTES=\"$(printf '\\377\\001\\033')\"\n"
                  "export COPY=\"$LINES_|$QUOTES|$SPACES|$ODD\"\n");
  const Variables job = same_as_steps({"ODD=\xfe\n=\r"});
  EXPECT_EQ(job.at("BYTES"), "\xff\x01\x1b");
  EXPECT_THAT(job.at("COPY"), testing::EndsWith("\t|\xfe\n=\r"));
}

TEST_F(Conda, OddPaths) {
  for (const char* search_path : {"/usr/bin/:/bin//:/a/./b", ":/usr/bin:/bin",
                                  "/usr/bin:/bin:", "/usr/bin:/bin:/x/condabin"}) {
    same_from(replaced({"PATH=" + std::string(search_path)}), train());
  }
}

TEST_F(Conda, ScriptsThatChangeWhatActivationSets) {
  activate_script("x.sh",
                  "export PATH=/script:$PATH CONDA_BACKUP_CC=${CC-}\n"
                  "export CC=$CONDA_PREFIX/bin/cc\nunset HERE\nreturn 1\n");
  const Variables job = same_as_steps({"CC=gcc"});
  EXPECT_THAT(job.at("PATH"), testing::StartsWith("/script:" + train()));
  EXPECT_EQ(job.count("HERE"), 0U);
}

// --- the four ways of the ModelArts page ---

class Ways : public Conda {
 protected:
  Ways() { write("conda/envs/train/bin/python", "#!/bin/sh\nexec /usr/bin/env -0\n", 0755); }
  Variables job_of(const Words& more, const Words& args) const {
    const Result result = rules::run({.args = args, .env = joined(env(), more), .pid1 = false});
    EXPECT_EQ(result.code, 0) << result.err;
    return variables_in(result.out);
  }
};

TEST_F(Ways, TheImageNamesIt) {
  const Variables job = job_of({"ANACONDA_DIR=" + root(), "DEFAULT_CONDA_ENV_NAME=train"},
                               {"--", "python", "train.py"});
  EXPECT_EQ(job.at("CONDA_PREFIX"), train());
}

TEST_F(Ways, TheProgramsPathNamesIt) {
  const Variables job = job_of({}, {"--", train() + "/bin/python", "train.py"});
  EXPECT_EQ(job.at("CONDA_PREFIX"), train());
  EXPECT_EQ(job.at("CONDA_EXE"), root() + "/bin/conda");
}

TEST_F(Ways, AShellLineIsTheUsersOwn) {
  const Words line = rules::shell("export PATH=" + train() + "/bin:$PATH; python train.py");
  const Variables job = job_of({}, joined({"--"}, line));
  EXPECT_EQ(job.count("CONDA_PREFIX"), 0U);
  EXPECT_EQ(job.at("PATH"), train() + "/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

TEST_F(Ways, CondaRunIsUnwrapped) {
  const Words command = {root() + "/bin/conda", "run",   "-n",         "train",
                         "--no-capture-output", "--cwd", path("home"), "python"};
  const Variables job = job_of({}, joined({"--"}, command));
  EXPECT_EQ(job.at("CONDA_PREFIX"), train());
  struct stat status{};
  EXPECT_NE(::stat(path("conda-was-called").c_str(), &status), 0);
}

TEST_F(Ways, AnImagesStartUpFileOfBashUndoesNone) {
  const Words image = {"ANACONDA_DIR=" + root(), "DEFAULT_CONDA_ENV_NAME=train",
                       "BASH_ENV=" + write("startup.sh", "export PATH=/usr/bin:/bin\n")};
  activate_script("a.sh", "export FROM_SCRIPT=1\n");
  const Variables job = job_of(image, {"--", "python", "train.py"});
  EXPECT_EQ(job.at("FROM_SCRIPT"), "1");
  EXPECT_EQ(job.at("BASH_ENV"), path("startup.sh")) << "the job's bash still reads it";
}

TEST_F(Ways, WithoutAnyOfThemTheEnvironmentStaysAsItIs) {
  Variables wanted;
  for (const std::string& entry : env()) {
    wanted[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  }
  EXPECT_EQ(job_of({}, {"--", "/usr/bin/env", "-0"}), wanted);
}

// --- libraries ---

TEST_F(Conda, LibrariesAreForTheJobOnly) {
  activate_script("x.sh",
                  "export SEEN=$LD_LIBRARY_PATH\n"
                  "export LD_LIBRARY_PATH=/script/lib:$LD_LIBRARY_PATH\n");
  const Words base = joined(env(), {"LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/mine"});
  const Variables job = by_trainit(base, {"--conda-dir", root(), "--conda-env", "train"});
  EXPECT_EQ(job.at("SEEN"), "/usr/local/nvidia/lib64:/mine");
  EXPECT_EQ(job.at("LD_LIBRARY_PATH"),
            "/script/lib:/usr/local/nvidia/lib64:" + train() + "/lib:/mine");
}

// --- what goes wrong ---

TEST_F(Conda, AMissingEnvironmentEndsTheStart) {
  const Result result = tool({"--conda-dir", root(), "--conda-env", "tain", "--", "/bin/true"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("tain"), HasSubstr("these exist: base, train")));
}

TEST_F(Conda, AScriptThatExitsEndsTheStart) {
  activate_script("bad.sh", "exit 3\n");
  const Result result = tool({"--conda-dir", root(), "--conda-env", "train", "--", "/bin/true"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("activate.d/bad.sh"), HasSubstr("exit code 3")));
}

TEST_F(Conda, AScriptThatFailsIsAWarning) {
  activate_script("weak.sh", "export A=1\nfalse\n");
  const Result result = tool({"--conda-dir", root(), "--conda-env", "train", "--", "/usr/bin/env"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning"), HasSubstr("activate.d/weak.sh")));
  EXPECT_THAT(result.out, HasSubstr("\nA=1\n"));
}

TEST_F(Conda, PlanShowsTheScriptsAndRunsNone) {
  activate_script("x.sh", "touch " + path("was-run") + "\n");
  const Result result = tool({"plan", "--conda-dir", root(), "--conda-env", "train", "--", "x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("activate.d/x.sh"), HasSubstr("CONDA_PREFIX")));
  struct stat status{};
  EXPECT_NE(::stat(path("was-run").c_str(), &status), 0);
}

TEST_F(Conda, UsageDoesNotOfferWhatOnlyTheShellIsToldToCall) {
  EXPECT_THAT(tool({"--help"}).out, AllOf(HasSubstr("  plan "), Not(HasSubstr("print-env"))));
}

}  // namespace
