// What runs beside the job: nothing that its user may change has root's rights there either.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::Result;
using escape::Spec;
using escape::Words;
using testing::HasSubstr;
using testing::Not;

class Services : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    ASSERT_EQ(::mkfifo(path("out/said").c_str(), 0666), 0);
    give("out/said", 0, 0666);
  }
  // The job lasts until its terminal has said who it is.
  [[nodiscard]] Spec with_terminal(const std::string& terminal, const Words& options = {}) const {
    const Words job = {"--", "/bin/sh", "-c", "read word <out/said"};
    const Words words = escape::joined({"--user", "1000:1000", "--terminal=" + terminal}, options);
    return contained(escape::joined(words, job));
  }
  void program(const std::string& name, const std::string& says) const {
    write(name, "#!/bin/sh\n{ " + says + "; } >out/who\necho end >out/said\n");
    give(name, kJob, 0755);
  }
};

TEST_F(Services, TheTerminalHasTheRightsOfTheJob) {
  program("home/web", "id -u; grep -e CapEff -e NoNewPrivs /proc/self/status");
  const Result result =
      rules::run(with_terminal(path("home/web"), {"--caps", "none", "--no-new-privs"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/who")), "1000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
  EXPECT_EQ(owner_of("out/who"), kJob);
}

// Found by the PATH that a conda environment of the job's leads.
TEST_F(Services, TheTerminalHasTheEnvironmentOfTheJob) {
  for (const char* name : {"home/conda", "home/conda/conda-meta", "home/conda/bin"}) {
    make(name, kJob, 0755);
  }
  write("home/conda/conda-meta/history", "");
  program("home/conda/bin/web", "id -u");
  const Result result = rules::run(with_terminal("web", {"--conda-env", path("home/conda")}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read(path("out/who")), "1000\n");
}

TEST_F(Services, TheTerminalHasNoDescriptorOfTheCallers) {
  program("home/web", "ls /proc/self/fd");
  Spec spec = with_terminal(path("home/web"));
  spec.before = [before = spec.before, root = path("root")] {
    before();
    const int fd = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
    if (fd < 0 || ::dup2(fd, 17) != 17) ::_exit(rules::kCannotStart);
  };
  EXPECT_EQ(rules::run(spec).code, 0);
  EXPECT_THAT(read(path("out/who")), Not(HasSubstr("17")));
}

// The names of the nodes are asked for before they meet: by a program of the image, as root.
TEST_F(Services, GetentOfTheJobsIsNotAsked) {
  make("home/bin", kJob, 0755);
  write("home/bin/getent", "#!/bin/sh\nid -u >>" + path("out/ran") + "\necho 127.0.0.1\n");
  give("home/bin/getent", kJob, 0755);
  Spec spec = contained({"--user", "1000:1000", "--framework", "pytorch", "--hosts",
                         "unknown.invalid:1,b:1", "--node-rank", "1", "--max-restarts", "1",
                         "--restart-across-nodes", "--restart-window", "1s", "--", "/bin/true"});
  for (std::string& entry : spec.env) {
    if (entry.starts_with("PATH=")) entry = "PATH=" + path("home/bin") + ":" + entry.substr(5);
  }
  const Result result = rules::run(spec);
  EXPECT_EQ(result.code, 69) << result.err;
  EXPECT_FALSE(exists("out/ran"));
}

}  // namespace
