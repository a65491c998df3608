// Variables that Kubernetes makes of the Services of a namespace: no name of a Service sets
// anything.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ServiceLinks : public rules::JobTest {
 protected:
  // As Kubernetes gives them to each pod of the namespace of `name`, "TRAINIT_SSH".
  [[nodiscard]] Words links_of(const std::string& name) const {
    Words all = env();
    for (const std::string& entry :
         {"_SERVICE_HOST=10.3.2.1", "_SERVICE_PORT=2222", "_PORT=tcp://10.3.2.1:2222",
          "_PORT_2222_TCP=tcp://10.3.2.1:2222", "_PORT_2222_TCP_PROTO=tcp",
          "_PORT_2222_TCP_PORT=2222", "_PORT_2222_TCP_ADDR=10.3.2.1"}) {
      all.push_back(name + entry);
    }
    return all;
  }
};

TEST_F(ServiceLinks, OfServicesWithAnOptionsNameEndNoJob) {
  for (const std::string name : {"TRAINIT_MASTER", "TRAINIT_SSH", "TRAINIT_LINK"}) {
    const Result result = rules::run(
        Spec{.args = {"--", "/bin/sh", "-c", "echo ran"}, .env = links_of(name), .pid1 = false});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "ran\n");
    EXPECT_THAT(result.err, AllOf(HasSubstr("ignoring " + name + "_PORT="),
                                  HasSubstr("enableServiceLinks: false")));
  }
}

// What a hook reads as trainit's own is trainit's own.
TEST_F(ServiceLinks, ComeToNoJobAsAnOption) {
  const Result result =
      rules::run(Spec{.args = {"--", "/bin/sh", "-c", "echo \"<$TRAINIT_MASTER_PORT>\""},
                      .env = links_of("TRAINIT_MASTER"),
                      .pid1 = false});
  EXPECT_EQ(result.out, "<>\n") << result.err;
}

TEST_F(ServiceLinks, AreNoVariableOfAPlatform) {
  Words variables = links_of("MASTER");
  for (const char* entry : {"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=node-a"}) {
    variables.emplace_back(entry);
  }
  const Result result =
      rules::run(Spec{.args = {"plan", "--rank-means", "node", "--framework", "pytorch", "--slots",
                               "1", "--fan-out", "--", "python3", "train.py"},
                      .env = variables,
                      .pid1 = false});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr("ignoring MASTER_PORT="));
  EXPECT_THAT(result.out, AllOf(HasSubstr("MASTER_PORT=29500"), Not(HasSubstr("MASTER_PORT=tcp"))));
}

// A plain command has what it had: it may look for its Services so.
TEST_F(ServiceLinks, OfOtherServicesStayTheJobs) {
  const Result result =
      rules::run(Spec{.args = {"--", "/bin/sh", "-c", "echo $REDIS_PORT $REDIS_SERVICE_HOST"},
                      .env = links_of("REDIS"),
                      .pid1 = false});
  EXPECT_EQ(result.out, "tcp://10.3.2.1:2222 10.3.2.1\n");
  EXPECT_EQ(result.err, "");
}

}  // namespace
