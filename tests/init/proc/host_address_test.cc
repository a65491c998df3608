#include "init/proc/host_address.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "init/proc/privileged.h"
#include "init/sys/clock.h"
#include "tests/init/child.h"
#include "tests/test_timeout.h"

namespace {

using proc::addresses_in_getent;
using proc::addresses_in_hosts;
using proc::find_addresses;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Address, IsToldFromAName) {
  for (const char* address : {"10.0.0.1", "fd00::2", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"}) {
    EXPECT_TRUE(proc::is_address(address)) << address;
  }
  for (const char* name : {"", "a", "10.0.0", "10.0.0.256", "10.0.0.1%eth0", "fd00::x", "%eth0"}) {
    EXPECT_FALSE(proc::is_address(name)) << name;
  }
}

TEST(HostsFile, GivesAllAddressesOfANameInTheirOrder) {
  constexpr const char* kHosts =
      "# a comment with job-0\n"
      "127.0.0.1\tlocalhost\n"
      "::1 localhost ip6-localhost # job-0\n"
      "\n"
      "  10.0.0.7   job-0.svc.cluster.local\tjob-0   JOB-zero\r\n"
      "fd00::7 job-0\n"
      "10.0.0.7 job-0\n"
      "nonsense job-0\n"
      "10.0.0.8 job-00 xjob-0\n"
      "10.0.0.9";
  EXPECT_THAT(addresses_in_hosts(kHosts, "job-0"), ElementsAre("10.0.0.7", "fd00::7"));
  EXPECT_THAT(addresses_in_hosts(kHosts, "LocalHost"), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(addresses_in_hosts(kHosts, "job-zero"), ElementsAre("10.0.0.7"));
  EXPECT_THAT(addresses_in_hosts(kHosts, "job"), IsEmpty());
  EXPECT_THAT(addresses_in_hosts(kHosts, "10.0.0.9"), IsEmpty());
  EXPECT_THAT(addresses_in_hosts("", "job-0"), IsEmpty());
}

TEST(Getent, NamesEachAddressOnceThoughItListsItByKindOfSocket) {
  EXPECT_THAT(addresses_in_getent("fd00::2         STREAM job-0.svc\n"
                                  "fd00::2         DGRAM  \n"
                                  "10.0.0.2        STREAM \n"
                                  "getent: something is wrong\n"
                                  "10.0.0.2        RAW"),
              ElementsAre("fd00::2", "10.0.0.2"));
  EXPECT_THAT(addresses_in_getent(""), IsEmpty());
}

class FindAddresses : public child::Scratch {
 protected:
  auto find(const std::string& host, std::int64_t limit_ms = 180'000) const {
    const base::Environ env({"PATH=" + path("") + ":/usr/bin:/bin"});
    return find_addresses(host, env, limit_ms, path("hosts"));
  }
};

TEST_F(FindAddresses, AsksNobodyForAnAddress) {
  write("getent", "#!/bin/sh\necho 9.9.9.9\n", 0755);
  EXPECT_THAT(find("10.0.0.1")->addresses, ElementsAre("10.0.0.1"));
  EXPECT_THAT(find("[fd00::2]")->addresses, ElementsAre("fd00::2"));
}

TEST_F(FindAddresses, AsksTheHostsFileAndThenGetent) {
  write("hosts", "10.0.0.7 known\n");
  write("getent", "#!/bin/sh\necho \"9.9.9.9 STREAM $*\"\n", 0755);
  EXPECT_THAT(find("known")->addresses, ElementsAre("10.0.0.7"));
  EXPECT_THAT(find("other")->addresses, ElementsAre("9.9.9.9"));
}

TEST_F(FindAddresses, SaysThatANameIsNotKnownYet) {
  write("getent", "#!/bin/sh\nexit 2\n", 0755);
  const auto found = find("other");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->addresses, IsEmpty());
  EXPECT_EQ(found->why, "its name is not known");
}

TEST_F(FindAddresses, DoesNotWaitLongerThanItMay) {
  write("getent", "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\nwait\n", 0755);
  const std::int64_t start_ms = sys::monotonic_ms();
  const auto found = find("other", 200);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->why, HasSubstr("not resolved within"));
  EXPECT_LT(sys::monotonic_ms() - start_ms, kAtOnceMs);
}

// Another user may be able to write the current directory.
TEST_F(FindAddresses, TakesNoProgramOfTheCurrentDirectoryAsRoot) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  write("getent", "#!/bin/sh\necho \"9.9.9.9 STREAM\"\n", 0755);
  std::filesystem::create_directory(path("bin"));
  std::filesystem::copy_file(path("getent"), path("bin/getent"));
  auto outcome = child::run([this] {
    if (::chdir(path("").c_str()) != 0) return 1;
    for (const char* search_path : {"", "bin", ":bin:.", ":"}) {
      const base::Environ env({"PATH=" + std::string(search_path)});
      if (proc::find_image_tool("getent", env)) return 2;
    }
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(FindAddresses, LeavesTheSignalsAsTheyWere) {
  write("getent", "#!/bin/sh\nexit 2\n", 0755);
  auto outcome = child::run([this] {
    if (!find("other")) return 1;
    ::raise(SIGTERM);
    return 0;
  });
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
}

}  // namespace
