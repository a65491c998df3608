#include "init/engine/resolve/start_values.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "init/sys/fd.h"

namespace {

using envgen::EnvEdit;

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

}  // namespace
