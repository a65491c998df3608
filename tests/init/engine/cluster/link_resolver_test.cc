#include "init/engine/cluster/link_resolver.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "init/proc/child_run.h"
#include "tests/init/child.h"

namespace {

class LinkResolver : public child::Scratch {};

// A worker that cannot be reaped, as in D state: a tracer learns of a death before the parent does.
TEST_F(LinkResolver, DoesNotHoldTheLinkForAWorkerThatCannotBeReaped) {
  write("getent", "#!/bin/sh\nexec sleep 1000\n", 0755);
  const base::Environ env({"PATH=" + path("")});
  engine::LinkResolver resolver("node-0.invalid", env);
  ASSERT_GE(resolver.fd(), 0);
  pid_t worker = 0;
  std::ifstream("/proc/thread-self/children") >> worker;
  if (worker <= 0) GTEST_SKIP() << "the kernel lists no children";
  auto tracer = proc::ChildRun::start({.time_ms = 60'000}, [worker](int fd) {
    if (::ptrace(PTRACE_SEIZE, worker, nullptr, nullptr) != 0) return 1;
    if (::write(fd, "t", 1) == 1) ::sleep(1000);
    return 0;
  });
  ASSERT_TRUE(tracer);
  while (tracer->output().empty() && !tracer->step()) ::poll(nullptr, 0, 5);
  if (tracer->output().empty()) GTEST_SKIP() << "may not trace";
  ::kill(worker, SIGKILL);
  pollfd ended{resolver.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &before);
  resolver.ready();
  ::getrusage(RUSAGE_THREAD, &after);
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 3) << "ready() must not sleep";
}

}  // namespace
