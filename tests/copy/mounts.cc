#include "tests/copy/mounts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "tests/init/child.h"
#include "tests/rules/isolation.h"

namespace mounts {
namespace {

std::string lying_fs() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lying_fs";
}

}  // namespace

int run_program(std::vector<std::string> words) {
  return child::run([&words] {
           std::vector<char*> argv;
           argv.reserve(words.size() + 1);
           for (std::string& word : words) argv.push_back(word.data());
           argv.push_back(nullptr);
           ::execvp(argv[0], argv.data());
           return 127;
         })
      .code;
}

bool may_lie() {
  return child::is_root() && rules::may_unshare() && ::access(lying_fs().c_str(), X_OK) == 0;
}

bool lie(const std::string& lies, const std::string& backing, const std::string& point) {
  return run_program({lying_fs(), lies, backing, point}) == 0;
}

bool mount_image(std::vector<std::string> mkfs, const std::string& image, long size,
                 const std::string& point) {
  const sys::Fd file(::open(image.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  mkfs.push_back(image);
  return ::ftruncate(file.get(), size) == 0 && run_program(std::move(mkfs)) == 0 &&
         run_program({"mount", "-o", "loop", image, point}) == 0;
}

void with(const std::function<bool()>& mount, const std::function<void()>& body) {
  constexpr int kNoMount = 77;
  if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "mounting takes root";
  const auto outcome = child::run([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mount()) {
      return kNoMount;
    }
    body();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == kNoMount) GTEST_SKIP() << "no such file system here";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

}  // namespace mounts
