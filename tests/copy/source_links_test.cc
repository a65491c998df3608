// Symbolic links that lead out of the source.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/copy/tree.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;
namespace fs = std::filesystem;

class SourceLinks : public child::Scratch {
 protected:
  SourceLinks() {
    fs::create_directories(path("blobs/deep"));
    fs::create_directories(path("source/d"));
    write("blobs/file", "weights");
    write("blobs/deep/file", "deep");
    write("source/own", "own");
    fs::permissions(path(""), fs::perms(0755));
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, path("source/" + name));
  }
  [[nodiscard]] Result copy(Words options = {}) const {
    options.insert(options.begin(), "copy");
    options.insert(options.end(), {path("source"), path("place")});
    return rules::run({.args = std::move(options), .env = {}, .pid1 = false});
  }
  [[nodiscard]] static bool tells(const Result& result, const std::string& text) {
    return (result.out + result.err).find(text) != std::string::npos;
  }
  // Where the copy's link leads; "" for what is none.
  [[nodiscard]] std::string target(const std::string& name) const {
    const fs::path link = path("place/" + name);
    return fs::is_symlink(link) ? fs::read_symlink(link).string() : "";
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    EXPECT_EQ(target(name), "") << name;
    return read(path("place/" + name));
  }
};

// As Hugging Face's snapshots, DVC and git-annex keep their files.
TEST_F(SourceLinks, FilesThatTheyLeadToAreCopied) {
  link("../blobs/file", "relative");
  link(path("blobs/file"), "absolute");
  link("../../blobs/deep/../file", "d/deep");
  link("relative", "chain");
  for (const Words& options : {Words{}, Words{"--verify"}}) {
    const Result result = copy(options);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(tells(result, ": 3 symbolic links lead out of it, as ")) << result.err;
    for (const char* name : {"relative", "absolute", "d/deep"}) {
      EXPECT_EQ(content(name), "weights") << name;
    }
    EXPECT_EQ(target("chain"), "relative");
    EXPECT_TRUE(tells(copy(options), "unchanged"));
    fs::remove_all(path("place"));
  }
}

TEST_F(SourceLinks, LargeFileIsDivided) {
  fs::resize_file(path("blobs/file"), 200ULL << 20U);
  link("../../blobs/file", "d/large");
  EXPECT_EQ(copy({"--workers", "4", "--verify"}).code, 0);
  EXPECT_EQ(target("d/large"), "");
  EXPECT_EQ(fs::file_size(path("place/d/large")), 200ULL << 20U);
}

TEST_F(SourceLinks, ChangeOfWhatTheyLeadToIsAChange) {
  link("../blobs/file", "link");
  EXPECT_EQ(copy().code, 0);
  write("blobs/file", "other weights");
  EXPECT_TRUE(tells(copy(), "exchanged"));
  EXPECT_EQ(content("link"), "other weights");
}

TEST_F(SourceLinks, OneThatLeadsInAgainIsKeptWithinTheCopy) {
  link(path("source/own"), "d/absolute");
  link("../../source/own", "d/relative");
  link("../own", "d/inside");
  link("nowhere", "dangling");
  link("../nowhere", "outside");
  const Result result = copy();
  EXPECT_FALSE(tells(result, "lead out of it")) << result.err;
  for (const char* name : {"d/absolute", "d/relative", "d/inside"}) {
    EXPECT_EQ(target(name), "../own") << name;
  }
  EXPECT_EQ(target("dangling"), "nowhere");
  EXPECT_EQ(target("outside"), "../nowhere");
}

TEST_F(SourceLinks, DirectoryThatOneLeadsToIsCopied) {
  fs::create_symlink("../file", path("blobs/deep/up"));
  fs::create_symlink("..", path("blobs/deep/loop"));
  fs::create_symlink("file", path("blobs/deep/beside"));
  link("../blobs/deep", "folder");
  const Result result = copy();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(target("folder"), "");
  EXPECT_EQ(content("folder/file"), "deep");
  EXPECT_EQ(content("folder/up"), "weights");
  EXPECT_EQ(target("folder/beside"), "file");
  EXPECT_EQ(target("folder/loop"), "..");
  EXPECT_TRUE(tells(copy(), "unchanged"));
}

TEST_F(SourceLinks, LoopsAndDevicesStayLinks) {
  link("..", "above");
  link("/dev/null", "device");
  link("/proc/self/mounts", "kernel");
  link("itself", "itself");
  const Result result = copy();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(tells(result, ": 3 symbolic links lead out of it, as ")) << result.err;
  EXPECT_EQ(target("above"), "..");
  EXPECT_EQ(target("device"), "/dev/null");
  EXPECT_EQ(target("kernel"), "/proc/self/mounts");
  EXPECT_EQ(target("itself"), "itself");
}

// Root copies what a user has put together.
TEST_F(SourceLinks, OnesMayReadNoMoreThanWhoeverMadeThem) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  write("blobs/secret", "secret");
  ASSERT_EQ(::chmod(path("blobs/secret").c_str(), 0600), 0);
  fs::permissions(path("blobs/deep"), fs::perms(0700));
  constexpr uid_t kUser = 65534;
  link("../blobs/secret", "of-user");
  link("../blobs/deep", "folder");
  link("../blobs/file", "open");
  for (const char* name : {"of-user", "folder", "open"}) {
    ASSERT_EQ(::lchown(path(std::string("source/") + name).c_str(), kUser, kUser), 0);
  }
  link("../blobs/secret", "of-root");
  EXPECT_EQ(copy().code, 0);
  EXPECT_EQ(target("of-user"), "../blobs/secret");
  EXPECT_EQ(target("folder"), "../blobs/deep");
  EXPECT_EQ(content("open"), "weights");
  EXPECT_EQ(content("of-root"), "secret");
  EXPECT_EQ(copy({"--owner", "65534:65534"}).code, 0);
  EXPECT_EQ(target("of-root"), "../blobs/secret");
}

// A file that all may read is nobody's to read in a directory that only its owner may enter.
TEST_F(SourceLinks, CopyGivesNoMoreThanTheWayToTheFile) {
  fs::permissions(path("blobs/deep"), fs::perms(0700));
  link("../blobs/deep/file", "file");
  EXPECT_EQ(copy().code, 0);
  EXPECT_EQ(content("file"), "deep");
  EXPECT_EQ(fs::status(path("place/file")).permissions(), fs::perms(0600));
}

}  // namespace
