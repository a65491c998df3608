// The line of a hook that says when it applies.

#include "base/hook_condition.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using hook_condition::Need;
using hook_condition::Word;

struct Job {
  bool nodes = false;
  bool ranks = false;
  bool devices = false;
  std::string_view variable = {};
};

bool applies(std::string_view text, const Job& job = {}) {
  const std::string head(text.substr(0, hook_condition::kMaxBytes));  // sanitizers see its end
  return hook_condition::applies(head.data(), static_cast<long>(head.size()),
                                 [&job](Need need, const Word& word) {
                                   if (need == Need::kNodes) return job.nodes;
                                   if (need == Need::kRanks) return job.ranks;
                                   if (need == Need::kDevices) return job.devices;
                                   return std::string_view(word.text, word.size) == job.variable;
                                 });
}

TEST(HookCondition, IsTheSecondLine) {
  EXPECT_FALSE(applies("#!/bin/sh\n# trainit-when: nodes\n"));
  EXPECT_TRUE(applies("#!/bin/sh\n# trainit-when: nodes\n", {.nodes = true}));
  EXPECT_TRUE(applies("# trainit-when: nodes\n"));
  EXPECT_TRUE(applies("#!/bin/sh\n\n# trainit-when: nodes\n"));
  EXPECT_TRUE(applies("#!/bin/sh\n # trainit-when: nodes\n"));
}

TEST(HookCondition, HoldsWhereAnyWordDoes) {
  const std::string text = "#!/bin/sh\n# trainit-when: ranks  devices NEED_A NEED_B2\necho\n";
  EXPECT_FALSE(applies(text));
  EXPECT_FALSE(applies(text, {.nodes = true}));
  EXPECT_TRUE(applies(text, {.ranks = true}));
  EXPECT_TRUE(applies(text, {.devices = true}));
  EXPECT_TRUE(applies(text, {.variable = "NEED_A"}));
  EXPECT_TRUE(applies(text, {.variable = "NEED_B2"}));
  EXPECT_FALSE(applies(text, {.variable = "NEED_B"}));
}

TEST(HookCondition, WithoutWordsAlwaysHolds) {
  EXPECT_TRUE(applies("#!/bin/sh\n# trainit-when:\n", {}));
  EXPECT_TRUE(applies("#!/bin/sh\n# trainit-when:  \n", {}));
}

TEST(HookCondition, IsNoneWhereItCannotBeUnderstood) {
  for (const char* text :
       {"", "\n", "#!/bin/sh", "#!/bin/sh\n", "\177ELF\n# trainit-when",
        "#!/bin/sh\n# trainit-when: nodes", "#!/bin/sh\n# trainit-when: node\n",
        "#!/bin/sh\n# trainit-when: nodes,ranks\n", "#!/bin/sh\n# trainit-when: 1A\n",
        "#!/bin/sh\n# trainit-when:\tnodes\n", "#!/bin/sh\n# trainit-when: nodes\r\n"}) {
    EXPECT_TRUE(applies(text)) << text;
  }
  const std::string lengthy = "#!/bin/sh\n# trainit-when: " + std::string(600, 'A') + "\n";
  EXPECT_TRUE(applies(lengthy));
}

TEST(HookCondition, KnowsDevicesByTheirNames) {
  for (const char* name : {"nvidia0", "nvidia15", "davinci7", "cambricon_dev0", "hl0", "accel3",
                           "neuron15", "kfd", "accel", "infiniband"}) {
    EXPECT_TRUE(hook_condition::is_device(name)) << name;
  }
  for (const char* name : {"", "null", "nvidia", "nvidiactl", "nvidia-uvm", "davinci_manager",
                           "infiniband0", "cambricon_ctl"}) {
    EXPECT_FALSE(hook_condition::is_device(name)) << name;
  }
}

TEST(HookCondition, TakesAVariableWithoutAValueForNone) {
  EXPECT_TRUE(hook_condition::sets("NEED=1", {"NEED", 4}));
  EXPECT_FALSE(hook_condition::sets("NEED=", {"NEED", 4}));
  EXPECT_FALSE(hook_condition::sets("NEEDS=1", {"NEED", 4}));
  EXPECT_FALSE(hook_condition::sets("NEE", {"NEED", 4}));
}

}  // namespace
