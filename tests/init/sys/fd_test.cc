#include "init/sys/fd.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "init/sys/clock.h"
#include "tests/init/child.h"
#include "tests/init/interruptions.h"

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// 3..9 and, far above, 900 are open.
bool open_some() {
  for (int fd = 3; fd <= 9; ++fd) {
    if (::dup2(0, fd) != fd) return false;
  }
  return ::dup2(0, 900) == 900;
}

int check_that_only_5_and_8_are_kept() {
  if (!open_some()) return 1;
  const std::array<int, 3> keep = {8, -1, 5};
  sys::close_descriptors(4, keep);
  for (int fd = 0; fd <= 9; ++fd) {
    const bool expected = fd <= 3 || fd == 5 || fd == 8;
    if (is_open(fd) != expected) return 10 + fd;
  }
  return is_open(900) ? 2 : 0;
}

// As a kernel before 5.9 answers, or a seccomp profile that does not know the call.
bool refuse_close_range(unsigned error) {
  std::array<sock_filter, 4> code = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_close_range},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{code.size(), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(OpenDescriptors, AreThoseFromTheFirstOnWithoutTheListingsOwn) {
  const auto outcome = child::run([] {
    sys::close_descriptors(3, {});
    if (!open_some()) return 1;
    std::vector<int> open = sys::open_descriptors(5);
    std::ranges::sort(open);
    return open == std::vector<int>{5, 6, 7, 8, 9, 900} ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(CloseDescriptors, SparesWhatIsBelowAndWhatIsKept) {
  EXPECT_EQ(child::run(check_that_only_5_and_8_are_kept).code, 0);
}

TEST(CloseDescriptors, GoesByProcWhereCloseRangeIsRefused) {
  for (const unsigned error : {ENOSYS, EPERM}) {
    const auto outcome = child::run([error] {
      if (!refuse_close_range(error)) return 99;
      // Counting to this limit would not end.
      const rlimit huge{1'000'000'000, 1'000'000'000};
      ::setrlimit(RLIMIT_NOFILE, &huge);
      return check_that_only_5_and_8_are_kept();
    });
    EXPECT_EQ(outcome.code, 0) << "errno " << error;
  }
}

TEST(CloseDescriptors, CountsWhereProcIsMissingToo) {
  if (!child::is_root()) GTEST_SKIP() << "chroot needs root";
  const auto outcome = child::run([] {
    std::array<char, 40> root = {"/tmp/trainit-root-XXXXXX"};
    if (::mkdtemp(root.data()) == nullptr || ::chdir(root.data()) != 0) return 98;
    ::rmdir(root.data());
    if (::chroot(".") != 0 || !refuse_close_range(ENOSYS)) return 99;
    return check_that_only_5_and_8_are_kept();
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(EnsureStandardFds, OpensDevNullOnWhatIsClosed) {
  const auto outcome = child::run([] {
    ::close(0);
    ::close(2);
    sys::ensure_standard_fds();
    struct stat null{};
    ::stat("/dev/null", &null);
    for (const int fd : {0, 2}) {
      struct stat status{};
      if (::fstat(fd, &status) != 0 || status.st_rdev != null.st_rdev) return 1;
      if (::fcntl(fd, F_GETFD) != 0) return 2;  // a task inherits it
    }
    return ::open("/dev/null", O_RDONLY) > 2 ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(EnsureStandardFds, LeavesWhatIsOpen) {
  const auto outcome = child::run([] {
    sys::ensure_standard_fds();
    return ::write(1, "here", 4) == 4 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "here");
}

TEST(EnsureStandardFds, AnswersAsAClosedOneWhereDevNullIsMissing) {
  if (!child::is_root()) GTEST_SKIP() << "chroot needs root";
  const auto outcome = child::run([] {
    std::array<char, 40> root = {"/tmp/trainit-root-XXXXXX"};
    if (::mkdtemp(root.data()) == nullptr || ::chdir(root.data()) != 0) return 98;
    ::rmdir(root.data());
    if (::chroot(".") != 0) return 99;
    ::close(2);
    sys::ensure_standard_fds();
    if (!is_open(2)) return 1;
    return ::write(2, "x", 1) < 0 && errno == EBADF ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

int g_answer_fd = -1;

TEST(AwaitReady, SignalsDoNotEndIt) {
  child::Pipe pipe = child::make_pipe();
  g_answer_fd = pipe.in.get();
  const child::Interruptions interruptions([] { return ::write(g_answer_fd, "x", 1) == 1; });
  EXPECT_TRUE(sys::await_ready(pipe.out.get(), POLLIN, sys::monotonic_ms() + 180'000));
  EXPECT_EQ(child::Interruptions::left(), 0);
}

TEST(AwaitReady, EndsWithItsTimeAndWithThePipe) {
  child::Pipe pipe = child::make_pipe();
  EXPECT_FALSE(sys::is_ready(pipe.out.get(), POLLIN));
  EXPECT_FALSE(sys::await_ready(pipe.out.get(), POLLIN, sys::monotonic_ms() + 1));
  child::say(pipe.in.get(), "x");
  EXPECT_TRUE(sys::is_ready(pipe.out.get(), POLLIN));
  EXPECT_FALSE(sys::await_ready(pipe.out.get(), POLLIN, sys::monotonic_ms())) << "no time is left";
  pipe.in.reset();
  EXPECT_TRUE(sys::await_ready(pipe.out.get(), 0, sys::monotonic_ms() + 180'000)) << "its end";
}

}  // namespace
