// doctor and --preflight as a person or a platform runs them.

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>

#include "base/json.h"
#include "base/xml.h"
#include "tests/rules/job.h"

namespace {

using rules::joined;
using rules::Result;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DoctorCommand : public rules::JobTest {
 protected:
  DoctorCommand() { ::mkdir(path("bin").c_str(), 0755); }

  // Instead of the driver's, found by PATH.
  void put_tool(const std::string& name, const std::string& script) const {
    write("bin/" + name, "#!/bin/sh\n" + script, 0755);
  }
  [[nodiscard]] Words tool_env() const {
    Words list = env();
    list[0] = "PATH=" + path("bin") + ":/usr/bin:/bin";
    return list;
  }
  [[nodiscard]] Result doctor(const Words& args, const std::function<void()>& before = {}) const {
    return rules::run({.args = joined({"doctor"}, args),
                       .env = tool_env(),
                       .pid1 = static_cast<bool>(before),
                       .before = before});
  }
  // A GPU that reports so many uncorrectable errors.
  void put_gpu(int errors) const {
    put_tool("nvidia-smi",
             "echo '<?xml version=\"1.0\" ?><nvidia_smi_log><driver_version>535</driver_version>"
             "<attached_gpus>1</attached_gpus><gpu id=\"00000000:0A:00.0\"><ecc_errors><volatile>"
             "<dram_uncorrectable>" +
                 std::to_string(errors) +
                 "</dram_uncorrectable></volatile></ecc_errors></gpu></nvidia_smi_log>'");
  }
};

TEST_F(DoctorCommand, SaysSomethingOfEverythingAndEndsInOrder) {
  const Result result = doctor({});
  EXPECT_THAT(result.code, testing::AnyOf(0, 1)) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  for (const char* check : {"plan ", "devices ", "shm ", "kernel ", "seccomp ", "peers "}) {
    EXPECT_THAT(result.out, HasSubstr(check));
  }
  EXPECT_THAT(result.out, HasSubstr(" failed, "));
  EXPECT_TRUE(std::filesystem::is_empty(path("run")));
}

TEST_F(DoctorCommand, LooksAtTheSourcesOfDatasets) {
  const Result result = doctor({"--only", "datasets", "--data", path("absent")});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr(path("absent")));
}

TEST_F(DoctorCommand, FailsWithWhatADriversToolFound) {
  put_gpu(0);
  EXPECT_EQ(doctor({"--only", "gpu"}).code, 0);
  put_gpu(2);
  const Result result = doctor({"--only=gpu"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("GPU 0000:0a:00.0"), HasSubstr("2 uncorrectable"),
                                HasSubstr("-> drain the node")));
}

TEST_F(DoctorCommand, ReportsToMachines) {
  put_gpu(2);
  const Result result = doctor({"--only", "gpu,user", "--json", "--junit", path("report.xml")});
  EXPECT_EQ(result.code, 1);
  const auto parsed = base::json::Document::parse(result.out, "stdout");
  ASSERT_TRUE(parsed.has_value()) << result.out;
  EXPECT_EQ(parsed->root().find("failed")->integer(), 1);
  EXPECT_EQ(parsed->root().find("results")->size(), 2U);
  const auto report = base::xml::parse(read(path("report.xml")), "report");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->child("testsuite")->attribute("failures"), "1");
  EXPECT_THAT(doctor({"--only", "user", "--junit", "-"}).out, HasSubstr("<testsuites>"));
}

TEST_F(DoctorCommand, RefusesWhatItDoesNotKnow) {
  const Result wrong = doctor({"--only", "gpus"});
  EXPECT_EQ(wrong.code, 125);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("\"gpus\""), HasSubstr("devices")));
  EXPECT_EQ(doctor({"--junit"}).code, 125);
  EXPECT_EQ(doctor({"--junit", path("absent/report.xml")}).code, 125);
  EXPECT_THAT(doctor({"--help"}).out, AllOf(HasSubstr("--junit"), HasSubstr("ranktable")));
}

TEST_F(DoctorCommand, SaysThatAJobCannotBePlanned) {
  const Result result =
      doctor({"--only", "plan", "--rank-table", write("bad.json", "[}"), "--", "x"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("bad.json"));
  const Result pending = doctor({"--only", "plan", "--rank-table", path("absent.json")});
  EXPECT_EQ(pending.code, 0);
  EXPECT_THAT(pending.out, HasSubstr("warning"));
}

TEST_F(DoctorCommand, GivesUpADriverThatHangs) {
  put_tool("npu-smi", "sleep 1000");
  const Result result = doctor({"--only", "npu,user", "--timeout", "1s"});
  EXPECT_EQ(result.code, 1);
  // By the check's time, where a busy machine leaves the tool's no room.
  EXPECT_THAT(result.out, AllOf(testing::AnyOf(HasSubstr("npu-smi has not answered"),
                                               HasSubstr("no answer within 1 s")),
                                HasSubstr("user ")));
}

TEST_F(DoctorCommand, WarnsOfTheSharedMemoryThatContainersHaveByDefault) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not make pid namespaces";
  auto shm_of = [](const char* size) {
    return [size] { ::mount("tmpfs", "/dev/shm", "tmpfs", 0, size); };
  };
  const Result small = doctor({"--only", "shm"}, shm_of("size=64m"));
  EXPECT_EQ(small.code, 0);
  EXPECT_THAT(small.out, AllOf(HasSubstr("warning"), HasSubstr("64 MiB"), HasSubstr("--shm-size")));
  EXPECT_THAT(doctor({"--only", "shm"}, shm_of("size=2g")).out,
              HasSubstr("ok       /dev/shm: 2 GiB"));
}

TEST_F(DoctorCommand, NamesALimitThatIsTooLow) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not make pid namespaces";
  auto few = [] {
    const rlimit limit{.rlim_cur = 256, .rlim_max = 8192};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  };
  EXPECT_THAT(doctor({"--only", "nofile"}, few).out,
              AllOf(HasSubstr("warning  256"), HasSubstr("--rlimit nofile=8192")));
  EXPECT_THAT(doctor({"--only", "nofile", "--rlimit", "nofile=8192"}, few).out,
              HasSubstr("ok       8192"));
}

TEST_F(DoctorCommand, ShowsWhatASeccompProfileAnswers) {
  if (!rules::may_unshare()) GTEST_SKIP() << "may not make pid namespaces";
  const Result old =
      doctor({"--only", "seccomp"}, [] { rules::refuse_calls({SYS_clone3}, EPERM); });
  EXPECT_EQ(old.code, 1);
  EXPECT_THAT(old.out, AllOf(HasSubstr("cannot start threads"), HasSubstr("20.10.10")));
  const Result numa = doctor({"--only", "seccomp"}, [] {
    rules::refuse_calls({SYS_clone3}, ENOSYS);
    rules::refuse_calls({SYS_set_mempolicy, SYS_mbind}, EPERM);
  });
  EXPECT_EQ(numa.code, 0);
  EXPECT_THAT(numa.out,
              AllOf(HasSubstr("set_mempolicy Operation not permitted"), HasSubstr("SYS_NICE")));
}

// --- --preflight ---

class Preflight : public DoctorCommand {
 protected:
  [[nodiscard]] Result job(const Words& options) const {
    return rules::run({.args = joined(options, {"--", "/bin/echo", "job runs"}),
                       .env = tool_env(),
                       .pid1 = false});
  }
};

TEST_F(Preflight, WarnsAndStartsTheJob) {
  put_gpu(2);
  const Result result = job({"--preflight", "warn"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "job runs\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("preflight: "), HasSubstr(" failed, "),
                                HasSubstr("warning: preflight: gpu: GPU 0000:0a:00.0")));
}

TEST_F(Preflight, RequiredRefusesAJobOnAMachineThatIsUnwell) {
  put_gpu(2);
  const Result result = job({"--preflight", "require"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(HasSubstr("gpu: GPU 0000:0a:00.0: 2 uncorrectable"),
                                HasSubstr("drain the node"), HasSubstr("trainit doctor")));
}

TEST_F(Preflight, IsPartOfThePlanAndOffByDefault) {
  const Result plan = tool({"plan", "--preflight", "require", "--", "x"});
  EXPECT_THAT(plan.out, HasSubstr("checks the machine first"));
  EXPECT_THAT(tool({"plan", "--json", "--preflight", "warn", "--", "x"}).out,
              HasSubstr("\"preflight\": \"warn\""));
  put_gpu(2);
  EXPECT_THAT(job({}).err, Not(HasSubstr("preflight")));
}

TEST_F(Preflight, StopsWhileADriverHangs) {
  put_tool("nvidia-smi", "touch " + path("out/asked") + "; exec sleep 1000");
  rules::Instance hanging(
      {.args = {"--preflight", "require", "--", "/bin/true"}, .env = tool_env(), .pid1 = false});
  await_file("out", "asked");
  hanging.signal(SIGTERM);
  EXPECT_NE(hanging.wait(), 0);
  EXPECT_EQ(hanging.lines_with("has not answered"), 0) << hanging.err();
}

}  // namespace
