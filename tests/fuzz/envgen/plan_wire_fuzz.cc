// The plan decoder runs in PID 1: whatever a resolver sends, it answers, and what it takes can be
// sent again.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/plan/plan.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(plan_wire) {
  auto plan = envgen::decode_plan({reinterpret_cast<const char*>(data), size});
  if (!plan) return 0;
  for (const auto* list : {&plan->processes, &plan->services, &plan->post_stop}) {
    for (const envgen::Process& process : *list) {
      if (process.argv.empty()) std::abort();
    }
  }
  for (const envgen::HookGroup& group : plan->hooks) {
    if (group.paths.empty()) std::abort();
  }
  auto again = envgen::decode_plan(envgen::encode_plan(*plan));
  if (!again || !(*again == *plan)) std::abort();
  return 0;
}
