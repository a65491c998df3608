// Scripts that are sourced for the job's environment: activate.d, set_env.sh.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using testing::HasSubstr;

class Scripts : public Border {};

// What a job writes into its own conda environment is sourced at the next start of the container.
TEST_F(Scripts, AreSourcedAsTheJob) {
  for (const char* name : {"home/conda", "home/conda/conda-meta", "home/conda/bin",
                           "home/conda/etc", "home/conda/etc/conda"}) {
    make(name, kJob, 0755);
  }
  make("home/conda/etc/conda/activate.d", kJob, 0755);
  write("home/conda/conda-meta/history", "");
  write("home/conda/etc/conda/activate.d/a.sh",
        "grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs):' /proc/self/status >" + path("out/who") +
            "\nexport SOURCED=yes\nulimit -n >" + path("out/limit") + "\n");
  const rules::Result result = rules::run(contained(
      {"--user", "1000:1000", "--caps", "none", "--no-new-privs", "--rlimit", "nofile=77:77",
       "--conda-env", path("home/conda"), "--", "/bin/sh", "-c", "echo sourced=$SOURCED"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("sourced=yes"));
  const std::string who = read(path("out/who"));
  EXPECT_THAT(who, HasSubstr("Uid:\t1000\t1000\t1000\t1000"));
  EXPECT_THAT(who, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(who, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(who, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_EQ(read(path("out/limit")), "77\n");
}

}  // namespace
