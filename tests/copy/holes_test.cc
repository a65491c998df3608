// Sources with holes of a size that no disk has: they are not read, and take no room.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/copy/mounts.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;

constexpr off_t kPetabyte = off_t{1} << 50;
constexpr off_t kLargest = (off_t{1} << 62) - 4096;

class Holes : public child::Scratch {
 protected:
  // `from` on a tmpfs, with the copy beside it: it has petabytes where nobody writes.
  void on_tmpfs(const std::function<void()>& body) const {
    mounts::with([this] { return ::mount("none", path("").c_str(), "tmpfs", 0, "size=64m") == 0; },
                 [&] {
                   ASSERT_EQ(::mkdir(path("from").c_str(), 0755), 0);
                   body();
                 });
  }
  void make_hole(const std::string& name, off_t size) const {
    write(name, "");
    ASSERT_EQ(::truncate(path(name).c_str(), size), 0);
  }
  void write_at(const std::string& name, off_t at, const std::string& text) const {
    const sys::Fd file(::open(path(name).c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), at), std::ssize(text));
  }
  [[nodiscard]] std::string text_at(const std::string& name, off_t at) const {
    const sys::Fd file(::open(path(name).c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(5, '\0');
    EXPECT_EQ(::pread(file.get(), text.data(), text.size(), at), std::ssize(text)) << name;
    return text;
  }
  [[nodiscard]] off_t size_of(const std::string& name) const {
    struct stat status{};
    EXPECT_EQ(::stat(path(name).c_str(), &status), 0) << name;
    return status.st_size;
  }
  [[nodiscard]] Result copy(const std::string& to, Words options = {}) const {
    Words args = {"copy", "--timeout", "2m"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {path("from"), path(to)});
    return rules::run({.args = std::move(args), .env = {}, .pid1 = false});
  }
};

TEST_F(Holes, AreNeitherReadNorCountedForRoom) {
  for (const char* option : {"--durable", "--verify"}) {
    on_tmpfs([this, option] {
      make_hole("from/empty", kPetabyte);
      make_hole("from/largest", kLargest);
      make_hole("from/small", off_t{2} << 20);
      make_hole("from/data", kPetabyte);
      write_at("from/data", kPetabyte / 2, "inside");
      write_at("from/data", kPetabyte - 5, "at end");
      const Result result = copy("to", {option});
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(size_of("to/empty"), kPetabyte);
      EXPECT_EQ(size_of("to/largest"), kLargest);
      EXPECT_EQ(size_of("to/small"), off_t{2} << 20);
      EXPECT_EQ(text_at("to/data", kPetabyte / 2), "insid");
      EXPECT_EQ(text_at("to/data", kPetabyte - 5), "at en");
      const Result again = copy("to", {option});
      EXPECT_NE((again.out + again.err).find("unchanged"), std::string::npos) << again.err;
    });
  }
}

// A copy that was touched is compared with its source.
TEST_F(Holes, AreComparedWithoutReadingThem) {
  for (const Words& options : {Words{}, Words{"--verify"}}) {
    on_tmpfs([&] {
      make_hole("from/data", kPetabyte);
      write_at("from/data", kPetabyte / 2, "inside");
      EXPECT_EQ(copy("to", options).code, 0);
      ASSERT_EQ(::chmod(path("to/data").c_str(), 0600), 0);
      ASSERT_EQ(::chmod(path("to/data").c_str(), 0644), 0);
      const Result same = copy("to", options);
      EXPECT_NE((same.out + same.err).find("unchanged"), std::string::npos) << same.err;

      const auto time = std::filesystem::last_write_time(path("to/data"));
      write_at("to/data", kPetabyte / 4, "other");
      std::filesystem::last_write_time(path("to/data"), time);
      const Result other = copy("to", options);
      EXPECT_EQ(other.code, 0) << other.err;
      EXPECT_EQ(other.err.find("unchanged"), std::string::npos) << other.err;
      EXPECT_EQ(text_at("to/data", kPetabyte / 4), std::string(5, '\0'));
    });
  }
}

}  // namespace
