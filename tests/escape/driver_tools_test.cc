// The tools that trainit runs as root: nvidia-smi, npu-smi, hccn_tool, getent. The job's user has
// some of its own in the PATH, or leads those of root by what the job's scripts export.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DriverTools : public Border {
 protected:
  void put(const std::string& name, uid_t owner, mode_t mode) const {
    write(name,
          "#!/bin/sh\necho \"ran $LD_PRELOAD\" >>" + path("out/ran") + "\necho ipaddr:10.1.0.1\n");
    give(name, owner, mode);
  }

  [[nodiscard]] Result run_as_root(const Words& args, const std::string& bin) const {
    rules::Spec spec = contained(args);
    std::erase_if(spec.env, [](const std::string& entry) { return entry.starts_with("PATH="); });
    spec.env.push_back("PATH=" + path(bin) + ":/usr/bin:/bin");
    spec.env.push_back("LD_PRELOAD=" + path("home/evil.so"));
    return rules::run(spec);
  }

  // Programs of root's in the container's PATH. As bash scripts, they use what an environment can
  // put in the place of a program: a function, PATH, BASH_ENV.
  void put_tools_of_root() const {
    make("root/bin", 0, 0755);
    for (const char* name : {"nvidia-smi", "npu-smi", "getent"}) {
      const std::string file = std::string("root/bin/") + name;
      write(file, "#!/bin/bash\nenv >>" + path(std::string("out/env-") + name) + "\ndate\n: >" +
                      path(std::string("out/end-") + name) + "\n");
      give(file, 0, 0755);
    }
  }

  // An environment of the job's user, whose script exports all that leads a program of root's.
  void put_conda_env() const {
    for (const char* name :
         {"home/conda", "home/conda/conda-meta", "home/conda/bin", "home/conda/etc",
          "home/conda/etc/conda", "home/conda/etc/conda/activate.d"}) {
      make(name, kJob, 0755);
    }
    write("home/conda/conda-meta/history", "");
    const std::string attack = "id >>" + path("out/ran");
    for (const char* name : {"date", "nvidia-smi", "npu-smi", "getent"}) {
      const std::string file = std::string("home/conda/bin/") + name;
      write(file, "#!/bin/sh\n" + attack + "\n");
      give(file, kJob, 0755);
    }
    write("home/evil.sh", attack + "\n");
    write("home/conda/etc/conda/activate.d/a.sh",
          "date() { " + attack + "; }\nexport -f date\nexport PATH=" + path("home/conda/bin") +
              ":$PATH PYTHONPATH=" + path("home") + " BASH_ENV=" + path("home/evil.sh") +
              " LD_LIBRARY_PATH=" + path("home/conda/bin") + " EVIL=1\n");
  }

  [[nodiscard]] rules::Spec with_conda_env(const Words& options, const Words& command) const {
    rules::Spec spec =
        contained(joined(joined({"--user", "1000:1000", "--caps", "none", "--no-new-privs",
                                 "--conda-env", path("home/conda")},
                                options),
                         joined({"--"}, command)));
    for (std::string& entry : spec.env) {
      if (entry.starts_with("PATH=")) entry = "PATH=" + path("root/bin") + ":" + entry.substr(5);
    }
    spec.env.push_back("LD_LIBRARY_PATH=" + path("home") + ":" + path("root/bin"));
    return spec;
  }

  // Each of them has run, by itself alone.
  void expect_untouched(const Words& tools) const {
    EXPECT_FALSE(exists("out/ran")) << read(path("out/ran"));
    for (const std::string& tool : tools) {
      EXPECT_THAT(read(path("out/env-" + tool)),
                  AllOf(HasSubstr("LD_LIBRARY_PATH=" + path("root/bin") + "\n"),
                        HasSubstr("PATH=/usr/local/sbin:"), Not(HasSubstr(path("home"))),
                        Not(HasSubstr("EVIL")), Not(HasSubstr("BASH_"))))
          << tool;
    }
  }

  [[nodiscard]] std::vector<Words> commands() const {
    return {{"doctor", "--only", "gpu"},
            {"doctor", "--only", "npu"},
            {"ranktable", "generate", "--devices", "0", "--server-id", "a"},
            joined({"run"}, ranks(1, {"/bin/false"}, {"--max-restarts", "1"})),
            {"plan", "--bind", "numa", "--fan-out", "--slots", "2", "--", "true"}};
  }
};

TEST_F(DriverTools, OfTheJobsUserAreNotRun) {
  make("home/bin", kJob, 0755);
  make("out/bin", 0, 0777);
  make("tmp/bin", 0, 0755);
  for (const char* name : {"nvidia-smi", "npu-smi", "hccn_tool"}) {
    put(std::string("home/bin/") + name, kJob, 0755);  // its own directory and file
    put(std::string("out/bin/") + name, 0, 0755);      // a directory that all may write
    put(std::string("tmp/bin/") + name, 0, 0777);      // a file that all may write
  }
  for (const char* bin : {"home/bin", "out/bin", "tmp/bin"}) {
    for (const Words& command : commands()) {
      const Result result = run_as_root(command, bin);
      EXPECT_FALSE(exists("out/ran"))
          << bin << testing::PrintToString(command) << read(path("out/ran"));
      if (command[0] == "plan") continue;
      EXPECT_THAT(result.out + result.err, HasSubstr("others may change it"));
    }
  }
}

TEST_F(DriverTools, OfRootAreRunWithoutTheJobsLibraries) {
  make("root/bin", 0, 0755);
  put("root/bin/hccn_tool", 0, 0755);
  const Result result =
      run_as_root({"ranktable", "generate", "--devices", "0", "--server-id", "a"}, "root/bin");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/ran")), "ran \n");
}

TEST_F(DriverTools, HaveNothingOfTheJobsEnvironmentBeforeTheStart) {
  put_tools_of_root();
  put_conda_env();
  const Result result =
      rules::run(with_conda_env({"--preflight", "warn", "--framework", "pytorch", "--hosts",
                                 "here:1,unknown.invalid:1", "--node-rank", "0"},
                                {"/bin/true"}));
  EXPECT_EQ(result.code, 0) << result.err;
  expect_untouched({"nvidia-smi", "npu-smi", "getent"});
}

TEST_F(DriverTools, HaveNothingOfTheJobsEnvironmentWhileItRuns) {
  put_tools_of_root();
  put_conda_env();
  const Result result = rules::run(with_conda_env(
      {"--health-checks", "gpu,npu", "--health-interval", "100ms"},
      {"/bin/sh", "-c",
       "until [ -e out/end-nvidia-smi ] && [ -e out/end-npu-smi ]; do /bin/sleep 0.05; done"}));
  EXPECT_EQ(result.code, 0) << result.err;
  expect_untouched({"nvidia-smi", "npu-smi"});
}

// Before a restart, who holds the devices is asked.
TEST_F(DriverTools, HaveNothingOfTheJobsEnvironmentBeforeARestart) {
  put_tools_of_root();
  put_conda_env();
  write("table.json", rules::rank_table(1));
  const Result result = rules::run(
      with_conda_env({"--rank-table", path("table.json"), "--max-restarts", "1"}, {"/bin/false"}));
  EXPECT_EQ(result.code, 1) << result.err;
  expect_untouched({"npu-smi"});
}

}  // namespace
