// A launcher of two nodes as the program runs it: it waits for its peer, serves, launches, ends the
// peer. ssh and mpirun are shell scripts here; that of the peer answers when HERE/up exists.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Words;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class Launcher : public rules::EitherWay {
 protected:
  Launcher() {
    ::mkdir(path("bin").c_str(), 0755);
    write("bin/ssh",
          "#!/bin/sh\nprintf '%s\\n' \"$*\" >> " + path("asked") +
              "\ncase \"$*\" in *trainit-peer-ping) [ -e " + path("up") +
              " ] || { echo 'node-b: Connection refused' >&2; exit 255; };; esac\n",
          0755);
  }
  void put_mpirun(const std::string& script) const {
    write("bin/mpirun", "#!/bin/sh\n" + script, 0755);
  }
  [[nodiscard]] rules::Spec launch(const Words& options = {}) const {
    rules::Spec result = spec(
        rules::joined(rules::joined({"--platform", "indexed", "--framework", "mpi", "--hosts",
                                     "node-a:1,node-b:1", "--node-rank", "0", "--ssh-port", "2299"},
                                    options),
                      {"--", "python", "train.py"}));
    result.env.emplace_back("JOB_COMPLETION_INDEX=0");
    result.env[0] = "PATH=" + path("bin") + ":/usr/sbin:/usr/bin:/sbin:/bin";
    return result;
  }
};
RULES_EITHER_WAY(Launcher);

TEST_P(Launcher, WaitsForItsPeerLaunchesAndTellsThePeerTheCode) {
  put_mpirun("exit 7");
  Instance instance(launch());
  ASSERT_TRUE(instance.await_err("node-b: Connection refused"));
  write("up", "");
  EXPECT_EQ(instance.wait(), 7);
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("1 of 1 peers (node-b)"), HasSubstr("services: sshd"),
                                    ContainsRegex("main \\(node 0 [^ ]+\\) exited with code 7")));
  EXPECT_THAT(read(path("asked")), HasSubstr("trainit-peer-end 7"));
}

}  // namespace
