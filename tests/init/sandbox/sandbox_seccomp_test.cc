#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "init/sandbox/capabilities.h"
#include "init/sandbox/seccomp.h"
#include "tests/init/sandbox/bpf.h"

namespace sandbox {
namespace {

using bpf::error;
using bpf::kAllow;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// In the shape of moby's default.json, with each kind of condition that it has.
constexpr std::string_view kMoby = R"({
  "defaultAction": "SCMP_ACT_ERRNO",
  "defaultErrnoRet": 1,
  "archMap": [
    {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
    {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
    {"architecture": "SCMP_ARCH_S390X", "subArchitectures": ["SCMP_ARCH_S390"]},
    {"architecture": "SCMP_ARCH_RISCV64", "subArchitectures": null}
  ],
  "syscalls": [
    {"names": ["access", "brk", "close", "execve", "execveat", "exit", "exit_group", "faccessat2",
               "fork", "futex", "getpid", "getppid", "kill", "mmap", "mprotect", "openat", "read",
               "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "tgkill", "umask", "vfork",
               "wait4", "waitid", "write", "futex_waitv"],
     "action": "SCMP_ACT_ALLOW"},
    {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
     "args": [{"index": 0, "value": 131072, "op": "SCMP_CMP_EQ"}]},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW",
     "args": [{"index": 0, "value": 4294967295, "op": "SCMP_CMP_EQ"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [
      {"index": 0, "value": 40, "valueTwo": 0, "op": "SCMP_CMP_NE"}]},
    {"names": ["arch_prctl"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["amd64", "x32"]}},
    {"names": ["arm_sync_file_range", "breakpoint"], "action": "SCMP_ACT_ALLOW",
     "includes": {"arches": ["arm", "arm64"]}},
    {"names": ["mount", "clone", "clone3", "unshare"], "action": "SCMP_ACT_ALLOW", "args": null,
     "includes": {"caps": ["CAP_SYS_ADMIN"]}, "excludes": {}, "comment": ""},
    {"names": ["clone"], "action": "SCMP_ACT_ALLOW",
     "args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}],
     "excludes": {"caps": ["CAP_SYS_ADMIN"], "arches": ["s390", "s390x"]}},
    {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38,
     "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
    {"names": ["get_mempolicy", "mbind", "set_mempolicy"], "action": "SCMP_ACT_ALLOW",
     "includes": {"caps": ["CAP_SYS_NICE"]}},
    {"names": ["bpf"], "action": "SCMP_ACT_ALLOW",
     "includes": {"caps": ["CAP_BPF", "CAP_PERFMON"], "minKernel": "5.8"}}
  ]
})";

Host host(std::string arch, std::uint64_t capabilities = 0, int major = 5, int minor = 10) {
  return {.arch = std::move(arch),
          .kernel_major = major,
          .kernel_minor = minor,
          .capabilities = capabilities};
}

std::string compiled(std::string_view json, const Host& on = host("amd64")) {
  auto filter = compile_profile(json, on, false, "p.json");
  if (!filter) ADD_FAILURE() << to_line(filter.error());
  return filter ? filter->program : "";
}

std::string refusal(std::string_view json, bool strict = false) {
  auto filter = compile_profile(json, host("amd64"), strict, "p.json");
  EXPECT_FALSE(filter.has_value()) << json;
  return filter ? "" : to_line(filter.error());
}

// A profile of `rules` on top of what a program needs.
std::string profile(std::string_view rules, std::string_view start = R"("SCMP_ACT_ERRNO")") {
  std::string text = R"({"defaultAction": )" + std::string(start);
  text += R"(, "syscalls": [{"names": ["execve", "exit_group"], "action": "SCMP_ACT_ALLOW"})";
  if (!rules.empty()) text += ", " + std::string(rules);
  return text + "]}";
}

// x86-64's numbers.
namespace amd64 {
constexpr int kRead = 0;
constexpr int kWrite = 1;
constexpr int kGetpid = 39;
constexpr int kSocket = 41;
constexpr int kClone = 56;
constexpr int kExecve = 59;
constexpr int kPtrace = 101;
constexpr int kGetppid = 110;
constexpr int kPersonality = 135;
constexpr int kArchPrctl = 158;
constexpr int kMount = 165;
constexpr int kReboot = 169;
constexpr int kMbind = 237;
constexpr int kOpenat = 257;
constexpr int kBpf = 321;
constexpr int kStatx = 332;
constexpr int kClone3 = 435;
constexpr int kFaccessat2 = 439;
}  // namespace amd64

// What a call of x86-64 gets.
std::uint32_t answer(std::string_view program, int number, std::uint64_t first = 0,
                     std::uint64_t second = 0) {
  return bpf::run(program, {.number = number, .arguments = {first, second}});
}

// arm64's numbers.
namespace arm64 {
constexpr int kMount = 40;
constexpr int kOpenat = 56;
constexpr int kExitGroup = 94;
constexpr int kClone = 220;
constexpr int kExecve = 221;
constexpr int kMbind = 235;
constexpr int kClone3 = 435;

std::uint32_t answer(std::string_view program, int number, std::uint64_t first = 0) {
  return bpf::run(program, {.arch = AUDIT_ARCH_AARCH64, .number = number, .arguments = {first}});
}
}  // namespace arm64

TEST(MobyProfile, WhatIsNotNamedGetsTheDefault) {
  const std::string filter = compiled(kMoby);
  EXPECT_EQ(answer(filter, amd64::kOpenat), kAllow);
  EXPECT_EQ(answer(filter, amd64::kExecve), kAllow);
  EXPECT_EQ(answer(filter, amd64::kMount), error(EPERM));
  EXPECT_EQ(answer(filter, amd64::kReboot), error(EPERM));
}

TEST(MobyProfile, CapabilitiesOpenTheirCalls) {
  const std::string admin = compiled(kMoby, host("amd64", capability_bit(CAP_SYS_ADMIN)));
  const std::string nice = compiled(kMoby, host("amd64", capability_bit(CAP_SYS_NICE)));
  EXPECT_EQ(answer(admin, amd64::kMount), kAllow);
  EXPECT_EQ(answer(admin, amd64::kClone3), kAllow);
  EXPECT_EQ(answer(admin, amd64::kMbind), error(EPERM));
  EXPECT_EQ(answer(nice, amd64::kMbind), kAllow);
  EXPECT_EQ(answer(nice, amd64::kMount), error(EPERM));
}

TEST(MobyProfile, AllCapabilitiesOfAConditionAreNeeded) {
  const std::uint64_t both = capability_bit(CAP_BPF) | capability_bit(CAP_PERFMON);
  EXPECT_EQ(answer(compiled(kMoby, host("amd64", both)), amd64::kBpf), kAllow);
  EXPECT_EQ(answer(compiled(kMoby, host("amd64", capability_bit(CAP_BPF))), amd64::kBpf),
            error(EPERM));
  EXPECT_EQ(answer(compiled(kMoby, host("amd64", both, 5, 7)), amd64::kBpf), error(EPERM))
      << "and the kernel with them";
}

TEST(MobyProfile, NewNamespacesAreForThoseWhoMayMakeThem) {
  constexpr std::uint64_t kNewUser = 0x1000'0000;
  const std::string plain = compiled(kMoby);
  EXPECT_EQ(answer(plain, amd64::kClone, SIGCHLD), kAllow);
  EXPECT_EQ(answer(plain, amd64::kClone, kNewUser | SIGCHLD), error(EPERM));
  const std::string admin = compiled(kMoby, host("amd64", capability_bit(CAP_SYS_ADMIN)));
  EXPECT_EQ(answer(admin, amd64::kClone, kNewUser | SIGCHLD), kAllow);
}

TEST(MobyProfile, TheKernelsVersionIsComparedAsNumbers) {
  struct Case {
    int major, minor;
    std::uint32_t expected;
  };
  for (const auto& [major, minor, expected] :
       {Case{4, 7, error(EPERM)}, Case{4, 8, kAllow}, Case{4, 19, kAllow}, Case{5, 0, kAllow},
        Case{3, 10, error(EPERM)}}) {
    EXPECT_EQ(answer(compiled(kMoby, host("amd64", 0, major, minor)), amd64::kPtrace), expected)
        << major << '.' << minor;
  }
}

TEST(MobyProfile, ArgumentsAreCompared) {
  const std::string filter = compiled(kMoby);
  EXPECT_EQ(answer(filter, amd64::kPersonality, 131072), kAllow);
  EXPECT_EQ(answer(filter, amd64::kPersonality, 0xFFFF'FFFF), kAllow);
  EXPECT_EQ(answer(filter, amd64::kPersonality, 1), error(EPERM));
  EXPECT_EQ(answer(filter, amd64::kSocket, 2), kAllow);
  EXPECT_EQ(answer(filter, amd64::kSocket, 40), error(EPERM));
}

TEST(MobyProfile, TheMapNamesTheOtherArchitectures) {
  constexpr int kOpenat32 = 295;
  const std::string filter = compiled(kMoby);
  EXPECT_EQ(bpf::run(filter, {.arch = AUDIT_ARCH_I386, .number = kOpenat32}), kAllow);
  EXPECT_EQ(bpf::run(filter, {.arch = AUDIT_ARCH_ARM, .number = 1}), SECCOMP_RET_KILL_THREAD);
  EXPECT_EQ(answer(filter, amd64::kOpenat | 0x4000'0000), kAllow) << "x32";
  EXPECT_EQ(answer(filter, amd64::kArchPrctl), kAllow);
}

TEST(MobyProfile, OnArm64ItsOwnNumbersAndRulesHold) {
  const std::string filter = compiled(kMoby, host("arm64", capability_bit(CAP_SYS_NICE)));
  using arm64::answer;
  EXPECT_EQ(answer(filter, arm64::kExecve), kAllow);
  EXPECT_EQ(answer(filter, arm64::kExitGroup), kAllow);
  EXPECT_EQ(answer(filter, arm64::kOpenat), kAllow);
  EXPECT_EQ(answer(filter, arm64::kMbind), kAllow);
  EXPECT_EQ(answer(filter, arm64::kMount), error(EPERM));
  EXPECT_EQ(answer(filter, arm64::kClone, SIGCHLD), kAllow);
  EXPECT_EQ(answer(filter, arm64::kClone, 0x1000'0000), error(EPERM));
  EXPECT_EQ(answer(filter, arm64::kClone3), error(ENOSYS));
  EXPECT_EQ(bpf::run(filter, {.number = amd64::kOpenat}), SECCOMP_RET_KILL_THREAD) << "not x86-64";
}

TEST(OciProfile, ArchitecturesStandInAList) {
  constexpr std::string_view kOci = R"({"defaultAction": "SCMP_ACT_KILL_PROCESS",
    "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],
    "syscalls": [
      {"names": ["execve", "exit_group", "read"], "action": "SCMP_ACT_ALLOW"},
      {"names": ["reboot"], "action": "SCMP_ACT_ERRNO", "errnoRet": 12}]})";
  const std::string filter = compiled(kOci);
  EXPECT_EQ(answer(filter, amd64::kRead), kAllow);
  EXPECT_EQ(answer(filter, amd64::kReboot), error(ENOMEM));
  EXPECT_EQ(answer(filter, amd64::kWrite), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(bpf::run(filter, {.arch = AUDIT_ARCH_I386, .number = 3}), kAllow) << "read";
  EXPECT_EQ(bpf::run(filter, {.arch = AUDIT_ARCH_I386, .number = 4}), SECCOMP_RET_KILL_PROCESS);
}

TEST(OciProfile, TheNativeArchitectureIsImplied) {
  EXPECT_EQ(answer(compiled(profile("")), amd64::kExecve), kAllow);
}

TEST(OldProfile, EachRuleHasOneName) {
  constexpr std::string_view kOld = R"({"defaultAction": "SCMP_ACT_ERRNO",
    "architectures": ["SCMP_ARCH_X86_64"],
    "syscalls": [{"name": "execve", "action": "SCMP_ACT_ALLOW", "args": []},
                 {"name": "exit_group", "action": "SCMP_ACT_ALLOW", "args": []},
                 {"name": "getpid", "action": "SCMP_ACT_ALLOW", "args": null}]})";
  const std::string filter = compiled(kOld);
  EXPECT_EQ(answer(filter, amd64::kGetpid), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetppid), error(EPERM));
}

TEST(Profile, EveryActionHasItsAnswer) {
  struct Case {
    const char* action;
    std::uint32_t expected;
  };
  for (const auto& [action, expected] :
       {Case{"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD},
        Case{"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD},
        Case{"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS},
        Case{"SCMP_ACT_TRAP", SECCOMP_RET_TRAP}, Case{"SCMP_ACT_ERRNO", error(EPERM)},
        Case{"SCMP_ACT_TRACE", SECCOMP_RET_TRACE | EPERM}, Case{"SCMP_ACT_LOG", SECCOMP_RET_LOG},
        Case{"SCMP_ACT_ALLOW", kAllow}}) {
    const std::string rule = R"({"names": ["getpid"], "action": ")" + std::string(action) + "\"}";
    EXPECT_EQ(answer(compiled(profile(rule, R"("SCMP_ACT_TRAP")")), amd64::kGetpid), expected)
        << action;
  }
}

TEST(Profile, ErrorsAreThoseAskedFor) {
  const std::string filter =
      compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 12},
                 {"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": null},
                 {"names": ["reboot"], "action": "SCMP_ACT_TRACE", "errnoRet": 65535})",
                       R"("SCMP_ACT_ERRNO", "defaultErrnoRet": 13)"));
  EXPECT_EQ(answer(filter, amd64::kGetpid), error(ENOMEM));
  EXPECT_EQ(answer(filter, amd64::kGetppid), error(EPERM));
  EXPECT_EQ(answer(filter, amd64::kRead), error(EACCES));
  EXPECT_EQ(answer(filter, amd64::kReboot), SECCOMP_RET_TRACE | 65535U);
}

TEST(Profile, EveryComparisonIsOfAll64Bits) {
  constexpr std::uint64_t kValue = 0x1234'5678'9ABC'DEF0;  // 1311768467463790320
  struct Case {
    const char* op;
    bool below, equal, above;
  };
  for (const auto& [op, below, equal, above] :
       {Case{"NE", true, false, true}, Case{"LT", true, false, false},
        Case{"LE", true, true, false}, Case{"EQ", false, true, false},
        Case{"GE", false, true, true}, Case{"GT", false, false, true}}) {
    const std::string filter = compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW",
                    "args": [{"index": 1, "value": 1311768467463790320, "op": "SCMP_CMP_)" +
                                                std::string(op) + "\"}]}"));
    const auto allows = [&filter](std::uint64_t value) {
      return answer(filter, amd64::kGetpid, 0, value) == kAllow;
    };
    constexpr std::uint64_t kHigh = 1ULL << 32;
    EXPECT_EQ(allows(kValue - 1), below) << op;
    EXPECT_EQ(allows(kValue - kHigh), below) << op;
    EXPECT_EQ(allows(kValue), equal) << op;
    EXPECT_EQ(allows(kValue + 1), above) << op;
    EXPECT_EQ(allows(kValue + kHigh), above) << op;
  }
}

TEST(Profile, ValuesGoUpToTheLast) {
  const std::string filter = compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW",
                  "args": [{"index": 0, "value": 18446744073709551615, "op": "SCMP_CMP_EQ"}]})"));
  EXPECT_EQ(answer(filter, amd64::kGetpid, ~0ULL), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetpid, ~0ULL >> 1), error(EPERM));
}

TEST(Profile, AMaskSelectsTheBitsThatAreCompared) {
  const std::string filter = compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW",
                  "args": [{"index": 0, "value": 240, "valueTwo": 16, "op": "SCMP_CMP_MASKED_EQ"}]})"));
  EXPECT_EQ(answer(filter, amd64::kGetpid, 0x1F), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetpid, 0x2F), error(EPERM));
}

TEST(Profile, ConditionsOnSeveralArgumentsMustAllHold) {
  const std::string filter = compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW",
                           "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                                    {"index": 1, "value": 2, "op": "SCMP_CMP_EQ"}]})"));
  EXPECT_EQ(answer(filter, amd64::kGetpid, 1, 2), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetpid, 1, 3), error(EPERM));
  EXPECT_EQ(answer(filter, amd64::kGetpid, 3, 2), error(EPERM));
}

TEST(Profile, OfSeveralConditionsOnOneArgumentAnyMayHold) {
  const std::string filter = compiled(profile(R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW",
                           "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                                    {"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}]})"));
  EXPECT_EQ(answer(filter, amd64::kGetpid, 1), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetpid, 2), kAllow);
  EXPECT_EQ(answer(filter, amd64::kGetpid, 3), error(EPERM));
}

TEST(Profile, NewerCallsThanThoseItKnowsDoNotExist) {
  const std::string filter =
      compiled(profile(R"({"names": ["statx"], "action": "SCMP_ACT_ALLOW"})"));
  EXPECT_EQ(answer(filter, amd64::kStatx - 1), error(EPERM));
  EXPECT_EQ(answer(filter, amd64::kStatx), kAllow);
  EXPECT_EQ(answer(filter, amd64::kFaccessat2), error(ENOSYS));
  EXPECT_EQ(answer(filter, 5000), error(ENOSYS));
  EXPECT_EQ(answer(compiled(profile("", R"("SCMP_ACT_KILL_PROCESS")")), amd64::kFaccessat2),
            SECCOMP_RET_KILL_PROCESS)
      << "where the author kills, that stands";
}

TEST(Clone3, IsNotThereWhereItWouldBeRefused) {
  constexpr std::string_view kRefused = R"({"names": ["clone3"], "action": "SCMP_ACT_ERRNO"},
                                           {"names": ["futex_waitv"], "action": "SCMP_ACT_ALLOW"})";
  constexpr std::string_view kUnnamed = R"({"names": ["futex_waitv"], "action": "SCMP_ACT_ALLOW"})";
  for (std::string_view rules : {kRefused, kUnnamed}) {
    for (const char* start : {R"("SCMP_ACT_ERRNO")", R"("SCMP_ACT_TRAP")", R"("SCMP_ACT_KILL")"}) {
      EXPECT_EQ(answer(compiled(profile(rules, start)), amd64::kClone3), error(ENOSYS)) << start;
    }
  }
  EXPECT_EQ(answer(compiled(profile(kRefused, R"("SCMP_ACT_ALLOW")")), amd64::kClone3),
            error(ENOSYS));
}

TEST(Clone3, StaysAsTheProfileSaysOtherwise) {
  EXPECT_EQ(answer(compiled(profile("", R"("SCMP_ACT_ALLOW")")), amd64::kClone3), kAllow);
  EXPECT_EQ(answer(compiled(profile(R"({"names": ["clone3"], "action": "SCMP_ACT_LOG"})")),
                   amd64::kClone3),
            SECCOMP_RET_LOG);
  EXPECT_EQ(answer(compiled(profile(R"({"names": ["clone3"], "action": "SCMP_ACT_KILL_PROCESS"})",
                                    R"("SCMP_ACT_ALLOW")")),
                   amd64::kClone3),
            SECCOMP_RET_KILL_PROCESS);
}

TEST(Profile, UnknownNamesAreWarningsOrErrors) {
  const std::string rules = R"({"names": ["getpid", "no_such_call"], "action": "SCMP_ACT_ALLOW"},
                               {"names": ["no_such_call"], "action": "SCMP_ACT_LOG"})";
  auto filter = compile_profile(profile(rules), host("amd64"), false, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_THAT(filter->warnings,
              ElementsAre(AllOf(HasSubstr("p.json: syscalls[1]"), HasSubstr("\"no_such_call\""))))
      << "once";
  EXPECT_EQ(answer(filter->program, amd64::kGetpid), kAllow);
  EXPECT_THAT(refusal(profile(rules), true),
              AllOf(HasSubstr("p.json: syscalls[1]"), HasSubstr("\"no_such_call\"")));
}

TEST(Profile, OfContradictoryRulesTheFirstWithoutConditionsStands) {
  const std::string rules = R"({"names": ["getpid"], "action": "SCMP_ACT_KILL",
                                "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]},
                               {"names": ["getpid"], "action": "SCMP_ACT_ALLOW"},
                               {"names": ["getpid"], "action": "SCMP_ACT_LOG"})";
  auto filter = compile_profile(profile(rules), host("amd64"), false, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_EQ(answer(filter->program, amd64::kGetpid, 1), kAllow);
  EXPECT_THAT(filter->warnings,
              ElementsAre(AllOf(HasSubstr("syscalls[1]: "), HasSubstr("getpid"),
                                HasSubstr("contradicts the one in p.json: syscalls[2]")),
                          AllOf(HasSubstr("syscalls[3]: "), HasSubstr("syscalls[2]"))));
  EXPECT_THAT(refusal(profile(rules), true), HasSubstr("contradicts"));
}

TEST(Profile, TwoAnswersToTheSameArgumentsAreAWarning) {
  constexpr std::string_view kArgs = R"("args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]})";
  const std::string rules =
      R"({"names": ["getpid"], "action": "SCMP_ACT_ALLOW", )" + std::string(kArgs) +
      R"(, {"names": ["getpid"], "action": "SCMP_ACT_LOG", )" + std::string(kArgs);
  auto filter = compile_profile(profile(rules), host("amd64"), false, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_EQ(answer(filter->program, amd64::kGetpid, 1), kAllow);
  EXPECT_THAT(filter->warnings, ElementsAre(HasSubstr("syscalls[2]")));
}

TEST(Profile, WarningsEnd) {
  std::string names;
  for (int number = 0; number < 1000; ++number) names += "\"x" + std::to_string(number) + "\",";
  auto filter =
      compile_profile(profile(R"({"names": [)" + names + R"("read"], "action": "SCMP_ACT_ALLOW"})"),
                      host("amd64"), false, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_EQ(filter->warnings.size(), 33U);
}

TEST(Profile, UnknownArchitecturesAreWarningsOrErrors) {
  const std::string text =
      profile("", R"("SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_VAX", "SCMP_ARCH_S390X"])");
  auto filter = compile_profile(text, host("amd64"), false, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_THAT(filter->warnings,
              ElementsAre(HasSubstr("SCMP_ARCH_VAX"), HasSubstr("another byte order")));
  EXPECT_THAT(refusal(text, true), HasSubstr("SCMP_ARCH_VAX"));
}

TEST(Profile, WhatIsNotUsedHereIsAWarning) {
  auto filter = compile_profile(
      profile("",
              R"("SCMP_ACT_ERRNO", "flags": ["SECCOMP_FILTER_FLAG_LOG"], "listenerPath": null)"),
      host("amd64"), true, "p.json");
  ASSERT_TRUE(filter.has_value());
  EXPECT_THAT(filter->warnings, ElementsAre(HasSubstr("\"flags\"")));
}

TEST(Profile, ARuleThatSaysWhatTheDefaultSaysChangesNothing) {
  EXPECT_EQ(compiled(profile(R"({"names": ["acct"], "action": "SCMP_ACT_ERRNO"})")),
            compiled(profile("")));
}

TEST(Profile, NoProgramCouldStartOrEndWithoutItsCalls) {
  EXPECT_THAT(refusal(R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
                {"names": ["exit_group"], "action": "SCMP_ACT_ALLOW"}]})"),
              AllOf(HasSubstr("p.json"), HasSubstr("allows execve")));
  EXPECT_THAT(refusal(R"({"defaultAction": "SCMP_ACT_KILL", "syscalls": [
                {"names": ["execve"], "action": "SCMP_ACT_ALLOW"}]})"),
              HasSubstr("allows exit_group"));
  EXPECT_THAT(refusal(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                {"names": ["execve"], "action": "SCMP_ACT_ERRNO"}]})"),
              HasSubstr("allows execve"));
  EXPECT_THAT(refusal(R"({"defaultAction": "SCMP_ACT_TRACE"})"), HasSubstr("allows execve"));
  EXPECT_THAT(refusal(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                {"names": ["execve"], "action": "SCMP_ACT_ERRNO"},
                {"names": ["execve"], "action": "SCMP_ACT_LOG"}]})"),
              HasSubstr("allows execve"))
      << "the first stands";
  EXPECT_THAT(compiled(R"({"defaultAction": "SCMP_ACT_LOG"})"), testing::Not(IsEmpty()));
}

TEST(Profile, WhatIsNoProfileIsRefusedWithItsPlace) {
  struct Case {
    std::string text;
    std::string place;
    std::string found;
  };
  const std::vector<Case> cases = {
      {"", "p.json", ""},
      {"{", "line 1", ""},
      {"[]", "p.json", "an array"},
      {"{}", "profile.defaultAction", "no action"},
      {R"({"defaultAction": 1})", "profile.defaultAction", "an integer"},
      {R"({"defaultAction": "ALLOW"})", "profile.defaultAction", "\"ALLOW\""},
      {R"({"defaultAction": "SCMP_ACT_NOTIFY"})", "profile.defaultAction", "SCMP_ACT_NOTIFY"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 4096})", "profile.defaultErrnoRet",
       "4096"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": {}})", "profile.syscalls", "an object"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "architectures": [], "archMap": 1})",
       "profile.archMap", "an integer"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "archMap": [1]})", "archMap[0]", "an integer"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86"], "archMap": []})",
       "profile", "both"},
      {profile("1"), "syscalls[1]", "an integer"},
      {profile(R"({"names": ["read"]})"), "syscalls[1].action", "no action"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_NOTIFY"})"), "syscalls[1].action",
       "SCMP_ACT_NOTIFY"},
      {profile(R"({"names": [1], "action": "SCMP_ACT_ALLOW"})"), "syscalls[1].names", "an integer"},
      {profile(R"({"names": [""], "action": "SCMP_ACT_ALLOW"})"), "syscalls[1].names",
       "an empty string"},
      {profile(R"({"names": ["read"], "name": "write", "action": "SCMP_ACT_ALLOW"})"),
       "syscalls[1]", "both"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ERRNO", "errnoRet": -1})"),
       "syscalls[1].errnoRet", "-1"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [
                   {"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}]})"),
       "syscalls[1].args[0].index", "6"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [
                   {"index": 0, "value": 18446744073709551616, "op": "SCMP_CMP_EQ"}]})"),
       "syscalls[1].args[0].value", ""},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [
                   {"index": 0, "value": "1", "op": "SCMP_CMP_EQ"}]})"),
       "syscalls[1].args[0].value", "a string"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "=="}]})"),
       "syscalls[1].args[0].op", "\"==\""},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [0]})"),
       "syscalls[1].args[0]", "an integer"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "includes": []})"),
       "syscalls[1].includes", "an array"},
      {profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW", "excludes": {"caps": "x"}})"),
       "syscalls[1].excludes.caps", "a string"},
  };
  for (const Case& each : cases) {
    EXPECT_THAT(refusal(each.text), AllOf(HasSubstr(each.place), HasSubstr(each.found)))
        << each.text;
  }
  for (const char* version : {"4", "4.", ".8", "4.8.1", "4.8-rc1", "four", "-4.8", "4.-8"}) {
    EXPECT_THAT(refusal(profile(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW",
                                    "includes": {"minKernel": ")" +
                                std::string(version) + "\"}}")),
                HasSubstr("syscalls[1].includes.minKernel"))
        << version;
  }
}

TEST(Profile, MoreThanTheKernelTakesIsRefused) {
  std::string rules;
  for (int value = 0; value < 5000; ++value) {
    rules += (value == 0 ? "" : ",") +
             std::string(R"({"names": ["ioctl"], "action": "SCMP_ACT_ALLOW", "args": [)") +
             R"({"index": 1, "op": "SCMP_CMP_EQ", "value": )" + std::to_string(value) + "}]}";
  }
  auto filter = compile_profile(profile(rules), host("amd64"), false, "p.json");
  ASSERT_FALSE(filter.has_value());
  EXPECT_THAT(to_line(filter.error()), HasSubstr("4096"));
}

TEST(Host, IsThisMachine) {
  const Host here = this_host(5);
  EXPECT_THAT(here.arch, testing::AnyOf("amd64", "arm64"));
  EXPECT_GE(here.kernel_major, 3);
  EXPECT_EQ(here.capabilities, 5U);
}

// With the kernel: the exit status of a child that installed the filter of `json` and ran `body`.
int confined(std::string_view json, const std::function<int()>& body) {
  auto filter = compile_profile(json, this_host(0), false, "p.json");
  if (!filter) {
    ADD_FAILURE() << to_line(filter.error());
    return -1;
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    const sock_fprog program{
        static_cast<unsigned short>(filter->program.size() / sizeof(sock_filter)),
        reinterpret_cast<sock_filter*>(filter->program.data())};
    constexpr int kNotInstalled = 99;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ::_exit(kNotInstalled);
    }
    // Not _exit: there a sanitizer looks for leaks, by calls that the filter refuses.
    ::syscall(SYS_exit_group, body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

TEST(Kernel, TakesTheFilterAndRefusesByIt) {
  const int status = confined(kMoby, [] {
    constexpr int kMode = 022;
    ::umask(kMode);
    if (::umask(0) != kMode) return 1;  // allowed
    if (::syscall(SYS_sethostname, "x", 1) != -1 || errno != EPERM) return 2;
    if (::syscall(SYS_clone3, nullptr, 0) != -1 || errno != ENOSYS) return 3;
    constexpr int kVsock = 40;
    if (::syscall(SYS_socket, kVsock, 1, 0) != -1 || errno != EPERM) return 4;
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Kernel, LetsAProgramStart) {
  const int status = confined(
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
          {"names": ["reboot"], "action": "SCMP_ACT_KILL_PROCESS"}]})",
      [] {
        ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
        return 1;
      });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Kernel, KillsWithSigsys) {
  const int status =
      confined(profile("", R"("SCMP_ACT_KILL_PROCESS")"), [] { return ::getppid() != 0; });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

}  // namespace
}  // namespace sandbox
