#include "init/engine/resolve/start_values.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "init/sys/fd.h"
#include "tests/init/child.h"

namespace {

using base::EnvEdit;

envgen::Plan plan_of_two() {
  envgen::Plan plan;
  for (int rank = 0; rank < 2; ++rank) {
    envgen::Process process;
    process.env = {{EnvEdit::Kind::kSet, "MASTER_PORT", "29500"},
                   {EnvEdit::Kind::kSet, "TORCHELASTIC_RESTART_COUNT", "0"}};
    plan.processes.push_back(process);
  }
  return plan;
}

TEST(StartValues, AllRanksMeetAtOnePortThatIsFree) {
  envgen::Plan plan = plan_of_two();
  plan.free_master_port = true;
  engine::fill_start_values(plan, 0);
  const int port = std::stoi(plan.processes[0].env[0].value);
  EXPECT_EQ(plan.processes[1].env[0].value, plan.processes[0].env[0].value);
  const sys::Fd store(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::bind(store.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << port;
}

TEST(StartValues, APortThatWasNamedStaysAndTheRestartsAreCounted) {
  envgen::Plan plan = plan_of_two();
  engine::fill_start_values(plan, 3);
  EXPECT_EQ(plan.processes[1].env[0].value, "29500");
  EXPECT_EQ(plan.processes[1].env[1].value, "3");
}

class Scheduler : public child::Scratch {
 protected:
  Scheduler() {
    plan_.scheduler = {"n0", false};
    envgen::Process process;
    process.argv = {"msrun", "--master_addr=n0", "x.py", "n0"};
    process.env = {{EnvEdit::Kind::kSet, "MS_SCHED_HOST", "n0"}};
    plan_.processes.push_back(process);
    base_.env = base::Environ({"PATH=/no/getent"});
    base_.facts.addresses = {"fd00::7", "10.0.0.7"};
  }
  base::Status fill(const std::string& hosts) {
    return engine::fill_scheduler(
        plan_, base_, 0, [](const std::string&) {}, write("hosts", hosts));
  }
  std::string address() {
    EXPECT_FALSE(plan_.scheduler);
    EXPECT_EQ(plan_.processes[0].argv[1], "--master_addr=" + plan_.processes[0].env[0].value);
    EXPECT_EQ(plan_.processes[0].argv[3], "n0");
    return plan_.processes[0].env[0].value;
  }

  envgen::Plan plan_;
  envgen::Snapshot base_;
};

TEST_F(Scheduler, IsAddressedByNumbers) {
  ASSERT_TRUE(fill("fd00::5 n0\n10.0.0.5 n0\n"));
  EXPECT_EQ(address(), "10.0.0.5");
}

TEST_F(Scheduler, ListensAtAnInterface) {
  plan_.scheduler->here = true;
  ASSERT_TRUE(fill("10.1.0.1 n0\n10.0.0.7 n0\n"));
  EXPECT_EQ(address(), "10.0.0.7");
  EXPECT_TRUE(plan_.warnings.empty());
}

TEST_F(Scheduler, OfNodesOnOneMachineIsAtItsLoopback) {
  for (const bool here : {false, true}) {
    plan_.scheduler = {"localhost", here};
    plan_.processes[0].argv[1] = "--master_addr=localhost";
    plan_.processes[0].env[0].value = "localhost";
    ASSERT_TRUE(fill("::1 localhost\n127.0.0.1 localhost\n"));
    EXPECT_EQ(address(), "127.0.0.1");
    EXPECT_TRUE(plan_.warnings.empty());
  }
}

TEST_F(Scheduler, WhoseNameLeadsElsewhereListensAtAnInterfaceWithAWarning) {
  plan_.scheduler->here = true;
  ASSERT_TRUE(fill("127.0.1.1 n0\n"));
  EXPECT_EQ(address(), "10.0.0.7");
  ASSERT_EQ(plan_.warnings.size(), 1U);
  EXPECT_THAT(plan_.warnings[0], testing::HasSubstr("n0 leads to 127.0.1.1"));
}

TEST_F(Scheduler, WithoutAnAddressIsAnErrorThatNamesIt) {
  const base::Status status = fill("10.0.0.5 other\n");
  ASSERT_FALSE(status);
  EXPECT_THAT(to_line(status.error()), testing::HasSubstr("n0"));
  EXPECT_THAT(to_line(fill("fd00::5 n0\n").error()),
              testing::AllOf(testing::HasSubstr("n0"), testing::HasSubstr("IPv4"),
                             testing::HasSubstr("--master-addr")));
}

}  // namespace
