// Which rank of two nodes failed first, where its node hears of a victim before it sees the end.

#include <gmock/gmock.h>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::free_port;
using rules::Instance;
using rules::joined;
using rules::shell;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

class NodesFailure : public rules::LifecycleTest {
 protected:
  // One rank, a shell, for each of two nodes.
  Spec node(int number, const std::string& script) {
    const std::string text = std::to_string(number);
    return spec(joined({"--run-dir", path("run" + text), "--platform=bare", "--fan-out", "--slots",
                        "1", "--nodes", "2", "--node-rank", text, "--hosts", "127.0.0.1,127.0.0.2",
                        "--master-port", master_, "--link-port", link_, "--"},
                       shell(script)));
  }

 private:
  std::string master_ = std::to_string(free_port());
  std::string link_ = std::to_string(free_port());
};
RULES_EITHER_WAY(NodesFailure);

// The culprit has printed why and closed its connections; a victim ends first.
TEST_P(NodesFailure, IsTheRanksThatWasToldToStopWhileItFailed) {
  const std::string connected = path("connected");
  const std::string raised = path("raised");
  Instance first(node(0, "until [ -e " + raised +
                             " ]; do sleep 0.01; done; echo 'RuntimeError: "
                             "[gloo/transport/tcp/pair.cc:598] Connection closed by peer "
                             "[127.0.0.2]:4' >&2; exit 1"));
  Instance second(node(1, "until [ -e " + connected +
                              " ]; do sleep 0.01; done; echo 'Traceback (most recent call last):\n"
                              "  File \"train.py\", line 9, in <module>\n"
                              "ValueError: no shard 17' >&2; : > " +
                              raised + "; exec sleep 600"));
  ASSERT_TRUE(second.await_err("connected to node 0"));
  write("connected", "");
  EXPECT_EQ(second.wait(), 1) << second.err();
  EXPECT_EQ(first.wait(), 76) << first.err();
  const auto names_it =
      AllOf(HasSubstr("first failure: rank-1 (node 1"),
            HasSubstr("was killed by SIGTERM (told to stop while it failed) after "),
            HasSubstr("; the cause: ValueError: no shard 17"));
  EXPECT_THAT(first.err(), names_it);
  EXPECT_THAT(second.err(), names_it);
}

}  // namespace
