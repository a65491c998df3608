// A restart and the devices that others hold: /dev has a file for one, and a service beside the
// job, which a restart leaves alone, has it open.

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <fstream>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::shell;
using rules::Spec;
using rules::Words;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class RestartOnDevices : public rules::JobTest {
 protected:
  void SetUp() override {
    if (!rules::may_unshare()) GTEST_SKIP() << "needs root and namespaces";
    for (const char* name : {"dev", "bin"}) ::mkdir(path(name).c_str(), 0755);
    for (const char* name : {"dev/null", "dev/davinci0", "dev/davinci_manager"}) write(name, "");
    ASSERT_EQ(::mkfifo(path("let-go").c_str(), 0600), 0);
  }

  // The rank fails once, when `file` is held.
  [[nodiscard]] Spec job(const Words& options, const std::string& file = "/dev/davinci0") const {
    const std::string service = "--terminal=sh -c 'exec 3<" + file +
                                "; echo > $HERE/out/held; read line < $HERE/let-go; exec 3<&-; "
                                "exec sleep 1000'";
    Spec one = spec(ranks(1,
                          shell("until [ -e $HERE/out/held ]; do sleep 0.01; done; "
                                "[ $TRAINIT_RESTART_COUNT = 1 ] || exit 9"),
                          joined({"--max-restarts", "1", service}, options)));
    one.env[0] += ":" + path("bin");
    one.before = [here = path("")] { show_devices(here); };
    return one;
  }

  // In the new process, whose mount namespace is its own.
  static void show_devices(const std::string& here) {
    const auto bind = [](const std::string& from, const std::string& to) {
      if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    bind("/dev/null", here + "dev/null");
    bind(here + "dev", "/dev");
  }
};

TEST_F(RestartOnDevices, BeginsAsSoonAsNobodyHoldsThem) {
  Instance instance(job({}));
  ASSERT_TRUE(instance.await_err("(sh) holds /dev/davinci0\n")) << instance.err();
  EXPECT_EQ(instance.lines_with("waiting for the devices: pid "), 1);
  std::ofstream(path("let-go")) << "go\n";
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(instance.err(), Not(HasSubstr("in use")));
  EXPECT_EQ(instance.lines_with("waiting for the devices: pid "), 1);
}

TEST_F(RestartOnDevices, BeginsAllTheSameWhenTheTimeIsOver) {
  const Result result = rules::run(job({"--device-wait", "300ms"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the job starts although its devices are in use for 0.3 s "
                              "(--device-wait): pid "),
                    HasSubstr("(sh) holds /dev/davinci0\n")));
}

TEST_F(RestartOnDevices, DoesNotLookWhereThatIsNotWanted) {
  const Result result = rules::run(job({"--device-wait", "0"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("holds")));
}

TEST_F(RestartOnDevices, IsNotKeptByTheFileOfTheirManager) {
  const Result result = rules::run(job({"--device-wait", "1h"}, "/dev/davinci_manager"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("holds")));
}

TEST_F(RestartOnDevices, IsNotKeptByAToolThatHangs) {
  write("bin/npu-smi", "#!/bin/sh\necho asked >>" + path("out/asked") + "\nexec sleep 1000\n",
        0755);
  const Result result = rules::run(job({"--device-wait", "1s"}, "/dev/davinci_manager"));
  EXPECT_EQ(result.code, 0) << result.err;
  // By the look's time, where a busy machine leaves the tool's no room.
  EXPECT_THAT(result.err, AllOf(HasSubstr("it is not known whether the devices are free: "),
                                AnyOf(HasSubstr("npu-smi has not answered within 0.8 s"),
                                      HasSubstr("no answer within 1 s"))));
  EXPECT_EQ(told("asked"), "asked\n") << "not before the first start";
}

TEST_F(RestartOnDevices, EndsAtOnceWithAStopMeanwhile) {
  Instance instance(job({"--device-wait", "1h"}));
  ASSERT_TRUE(instance.await_err("(sh) holds /dev/davinci0\n")) << instance.err();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143) << instance.err();
}

}  // namespace
