// What a copy keeps, and what it refuses.
#include "tests/init/copy/tree/copy_job.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "init/copy/tree/copy.h"
#include "tests/init/refuse.h"

namespace {

using copy_job::shell;
using testing::HasSubstr;

class CopyJobTest : public copy_job::Fill {};

TEST_F(CopyJobTest, KeepsContentsModesTimesAndLinks) {
  make(R"(mkdir -p a/b empty; echo text >a/file; : >a/nothing; echo 1 >a/b/run; chmod 750 a/b/run
          ln -s ../nowhere a/link; ln -s /dev/null absolute
          chmod 555 a/b; chmod 1777 empty; touch -d '1999-09-09 09:09:09.123456789' a/file a
          touch -h -d '2001-01-01 01:01:01.5' a/link; touch -d '2033-01-01' a/nothing)");
  copy_well();
  expect_copy();
}

TEST_F(CopyJobTest, KeepsSetuidAndOwnersAsRoot) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  make(
      "echo 1 >a; chmod 4711 a; echo 2 >b; chown 12:34 b; mkdir -m 2775 c; chown 5:6 c;"
      "ln -s x d; chown -h 7:8 d; echo 3 >e; chown 9:10 e; chmod 6755 e");
  copy_well();
  expect_copy();
}

TEST_F(CopyJobTest, GivesAllToTheOwnerThatIsAskedFor) {
  if (!child::is_root()) GTEST_SKIP() << "needs root";
  make("mkdir a; echo 1 >a/b; ln -s b a/c; chmod 4755 a/b");
  options_.owner = copy::Owner{.uid = 1234, .gid = 5678};
  copy_well();
  EXPECT_EQ(shell("find '" + tree() + "' ! -uid 1234 -o ! -gid 5678"), "");
  EXPECT_EQ(shell("stat -c %a '" + tree() + "/a/b'"), "755\n");
}

TEST_F(CopyJobTest, KeepsNamesOfAnyBytes) {
  make(
      R"sh(echo 1 >$'line\nend'; echo 2 >$'\xff\xfe'; echo 3 >' '; echo 4 >'back\slash'; echo 5 >-rf
          echo 6 >'*'; mkdir $'dir\n'; echo 7 >$'dir\n/'"$(printf 'n%.0s' {1..255})")sh");
  copy_well();
  expect_copy();
  EXPECT_EQ(shell("wc -l <'" + state() + "/manifest'"), "10\n");  // a title, and a line each
}

TEST_F(CopyJobTest, KeepsPathsLongerThanAnyCallTakes) {
  make(R"(name=$(printf 'd%.0s' {1..200}); for i in {1..30}; do mkdir $name; cd $name; done
          echo deep >file; ln file other; chmod 700 .)");
  copy_well();
  EXPECT_EQ(copy_job::listing(tree()), copy_job::listing(source()));
  copy_well();  // what is there is found again
  EXPECT_EQ(copy_job::listing(tree()), copy_job::listing(source()));
}

TEST_F(CopyJobTest, KeepsHardLinksAcrossDirectories) {
  make(R"(mkdir a b c; echo text >a/one; ln a/one b/two; ln a/one c/three; : >empty; ln empty void
          for i in {1..200}; do ln a/one c/n$i; done)");
  options_.workers = 4;
  copy_well();
  expect_copy();
  EXPECT_EQ(shell("cd '" + tree() + "'; stat -c %i a/one b/two c/three c/n7 | uniq | wc -l"),
            "1\n");
}

TEST_F(CopyJobTest, CopiesEachNameWhereThereAreNoHardLinks) {
  make("echo text >a; ln a b");
  std::string warning;
  options_.warn = [&warning](const std::string& line) { warning += line; };
  const child::Outcome outcome = child::run([&] {
    if (!refuse::calls({SYS_linkat, SYS_link}, EPERM)) return 2;
    const auto filled = fill();
    std::fputs(warning.c_str(), stdout);
    return filled ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no hard links, copying each name instead"));
  EXPECT_EQ(shell("cd '" + tree() + "'; cat a b"), "text\ntext\n");
}

// A tree of the size that it has by its hard links may not fit without them.
TEST_F(CopyJobTest, DoesNotTakeAFullDiskForOneWithoutHardLinks) {
  make("echo text >a; ln a b");
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    const child::Outcome outcome = child::run([&] {
      if (!refuse::calls({SYS_linkat, SYS_link}, error)) return 2;
      std::fputs(error_of_fill().c_str(), stdout);
      return 0;
    });
    EXPECT_THAT(outcome.out, HasSubstr("writing a copy: " + tree() + "/"));
    EXPECT_THAT(outcome.out,
                HasSubstr(error == EIO ? "run it again: it goes on" : "make room there"));
  }
}

TEST_F(CopyJobTest, KeepsHoles) {
  make(R"(truncate -s 9G all; truncate -s 130M some; echo x >>some
          echo y | dd of=some seek=70 bs=1M conv=notrunc status=none
          truncate -s 1M small; echo z >>small; truncate -s 2M small)");
  options_.workers = 3;
  const auto filled = fill();
  ASSERT_TRUE(filled) << to_line(filled.error());
  EXPECT_EQ(copy_job::listing(tree()), copy_job::listing(source()));
  EXPECT_EQ(shell("cd '" + source() + "'; cmp some '" + tree() + "/some'; cmp small '" + tree() +
                  "/small'"),
            "");
  EXPECT_LT(std::stoi(shell("du -sk '" + tree() + "'")), 200);
}

TEST_F(CopyJobTest, DividesALargeFile) {
  make("for i in {64..140}; do echo $i | dd of=file bs=1M seek=$i conv=notrunc status=none; done");
  options_.workers = 4;
  copy_well();
  expect_copy();
  options_.verify = true;
  copy_well();
  expect_copy();
  EXPECT_THAT(shell("cat '" + state() + "/manifest'"), HasSubstr("p 67108864 67108864 0 1 "));
}

// /proc claims 0 bytes and /sys a page of each file, as a file system on the network may.
TEST_F(CopyJobTest, ReadsAFileToItsEndWhateverSizeItClaims) {
  for (const bool verify : {false, true}) {
    options_.verify = verify;
    for (const auto& [directory, name] :
         {std::pair("/proc", "version"), std::pair("/sys/kernel", "fscaps")}) {
      const std::string file = std::string(directory) + "/" + name;
      if (::access(file.c_str(), R_OK) != 0) continue;
      const auto filled =
          copy::run_copy_job({directory, name}, tree(), state(), options_, *counters_);
      ASSERT_TRUE(filled) << to_line(filled.error());
      EXPECT_EQ(shell("cat '" + tree() + "'"), shell("cat '" + file + "'"));
      const auto verified = copy::verify_tree(tree(), state() + "/manifest", options_, *counters_);
      EXPECT_TRUE(verified) << to_line(verified.error());
      shell("rm -r '" + tree() + "' '" + state() + "'");
    }
  }
}

TEST_F(CopyJobTest, DividesAFlatDirectory) {
  make("seq 1000 | xargs -n 500 touch; echo x >a");
  options_.workers = 4;
  copy_well();
  expect_copy();
}

TEST_F(CopyJobTest, CopiesASingleFile) {
  make("echo one >file; chmod 640 file; touch -d 2012-12-12 file; ln file link");
  for (const char* name : {"/file", "/link", "/file"}) {
    const std::string path = source() + name;
    const copy::Root from = copy::root_of(path, false);
    const auto filled = copy::run_copy_job(from, tree(), state(), options_, *counters_);
    ASSERT_TRUE(filled) << to_line(filled.error());
    const auto scanned = copy::scan_tree(from, options_, *counters_);
    ASSERT_TRUE(scanned);
    EXPECT_EQ(scanned->digest, filled->digest);
    EXPECT_EQ(filled->size.entries, 1U);
    EXPECT_EQ(read(tree()), "one\n");
    EXPECT_EQ(shell("stat -c '%a %y %F' '" + tree() + "'"),
              shell("stat -c '%a %y %F' '" + path + "'"));
  }
}

TEST_F(CopyJobTest, DividesASingleLargeFile) {
  make(
      "truncate -s 1G file; for i in {0..15}; do echo $i | dd of=file bs=1M seek=$((i * 64)) "
      "conv=notrunc status=none; done; touch other");
  options_.workers = 8;
  const auto filled = copy::run_copy_job({source(), "file"}, tree(), state(), options_, *counters_);
  ASSERT_TRUE(filled) << to_line(filled.error());
  EXPECT_EQ(shell("cmp '" + source() + "/file' '" + tree() + "'"), "");
}

// Neither its directory's other entries nor its list of them are anybody's business.
TEST_F(CopyJobTest, CopiesASingleFileOfADirectoryThatMayNotBeListed) {
  if (!child::is_root()) GTEST_SKIP() << "needs root, to be somebody else";
  make("echo one >file; mkfifo other; chmod 711 .");
  ASSERT_EQ(::mkdir(path("own").c_str(), 0777), 0);
  ASSERT_EQ(::chown(path("own").c_str(), 65534, 65534), 0);
  const child::Outcome outcome = child::run([&] {
    if (!child::become_nobody()) return 2;
    const auto filled = copy::run_copy_job({source(), "file"}, path("own/tree"), path("own/state"),
                                           options_, *counters_);
    if (!filled) std::puts(to_line(filled.error()).c_str());
    return 0;
  });
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read(path("own/tree")), "one\n");
}

TEST_F(CopyJobTest, TakesOnlyWhatTheFilterTakes) {
  make(
      "mkdir -p a/keep b; echo 1 >a/keep/x.bin; echo 2 >a/y.txt; echo 3 >b/z.bin; mkfifo "
      "a/pipe.txt");
  const auto filter = copy::PathFilter::make({"*.bin"}, {"b/"});
  ASSERT_TRUE(filter);
  options_.filter = *filter;
  copy_well();
  EXPECT_EQ(shell("cd '" + tree() + "'; find . -type f"), "./a/keep/x.bin\n");
  options_.filter = *copy::PathFilter::make({}, {"*.bin", "*.txt"});
  copy_well();
  EXPECT_EQ(shell("cd '" + tree() + "'; find . -type f; ls"), "a\nb\n");
}

TEST_F(CopyJobTest, RefusesWhatIsNoFileByName) {
  make("mkdir a; mkfifo a/pipe");
  EXPECT_EQ(error_of_fill(), "copying: " + source() +
                                 "/a/pipe: found a FIFO; remove it from the source, or exclude it");
  if (!child::is_root()) return;
  make("rm a/pipe; mknod a/null c 1 3");
  EXPECT_THAT(error_of_fill(), HasSubstr("/a/null: found a device"));
}

TEST_F(CopyJobTest, NamesWhatItMayNotRead) {
  if (!child::is_root()) GTEST_SKIP() << "needs root, to be somebody else";
  make("mkdir a; echo secret >a/file; chmod 600 a/file");
  ASSERT_EQ(::mkdir(path("own").c_str(), 0777), 0);
  ASSERT_EQ(::chown(path("own").c_str(), 65534, 65534), 0);
  const child::Outcome outcome = child::run([&] {
    if (!child::become_nobody()) return 2;
    const auto filled =
        copy::run_copy_job({source()}, path("own/tree"), path("own/state"), options_, *counters_);
    if (!filled) std::puts(to_line(filled.error()).c_str());
    return 0;
  });
  EXPECT_EQ(outcome.out, "reading what is to be copied: " + source() +
                             "/a/file: found Permission denied (EACCES); let it be read, copy as a "
                             "user who may, or exclude it\n");
}

TEST_F(CopyJobTest, CopiesDirectoriesThatMayNotBeWrittenAsAUser) {
  if (!child::is_root()) GTEST_SKIP() << "needs root, to be somebody else";
  make(
      "mkdir -p a/b; echo 1 >a/b/file; chmod 444 a/b/file; chmod 555 a/b a; mkdir -p o/p; echo 2 "
      ">o/p/q; chmod 055 o; chmod 705 o/p");
  ASSERT_EQ(::mkdir(path("own").c_str(), 0777), 0);
  ASSERT_EQ(::chown(path("own").c_str(), 65534, 65534), 0);
  // Twice: the second time it finds what may not be written.
  const child::Outcome outcome = child::run([&] {
    if (!child::become_nobody()) return 2;
    for (int run = 0; run < 2; ++run) {
      const auto filled =
          copy::run_copy_job({source()}, path("own/tree"), path("own/state"), options_, *counters_);
      if (!filled) std::puts(to_line(filled.error()).c_str());
    }
    return 0;
  });
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(shell("cd '" + path("own/tree") + "'; find . -printf '%p %m %T@\\n' | sort"),
            shell("cd '" + source() + "'; find . -printf '%p %m %T@\\n' | sort"));
}

TEST_F(CopyJobTest, SaysThatThereIsNoSource) {
  const auto filled = copy::run_copy_job({path("nothing")}, tree(), state(), options_, *counters_);
  ASSERT_FALSE(filled);
  EXPECT_EQ(to_line(filled.error()),
            "reading what is to be copied: " + path("nothing") +
                ": found No such file or directory (ENOENT); name what is there");
}

TEST_F(CopyJobTest, RefusesACopyInsideItsSource) {
  make("mkdir a; echo 1 >a/b");
  const auto filled =
      copy::run_copy_job({source()}, source() + "/a/tree", path("state"), options_, *counters_);
  ASSERT_FALSE(filled);
  EXPECT_THAT(to_line(filled.error()), HasSubstr("the copy itself inside its source"));
}

TEST_F(CopyJobTest, StopsBeforeTheDiskIsFull) {
  make("echo 1 >a");
  options_.headroom.percent = 100;
  EXPECT_THAT(error_of_fill(),
              HasSubstr("are to stay free; make room there, or lower the headroom"));
}

TEST_F(CopyJobTest, SaysThatTheDiskIsFull) {
  make("head -c 3000000 /dev/zero >file");
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  const child::Outcome outcome = child::run([&] {
    if (::unshare(CLONE_NEWNS | (child::is_root() ? 0 : CLONE_NEWUSER)) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", path("disk").c_str(), "tmpfs", 0, "size=1m") != 0) {
      return 2;
    }
    const auto filled =
        copy::run_copy_job({source()}, path("disk/tree"), path("disk/state"), options_, *counters_);
    if (!filled) std::puts(to_line(filled.error()).c_str());
    return ::rmdir(path("disk/tree").c_str()) == 0 || ::rmdir(path("disk/state").c_str()) == 0 ? 1
                                                                                               : 0;
  });
  if (outcome.code == 2) GTEST_SKIP() << "may not mount";
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "writing a copy: " + path("disk/tree/file") +
                             ": found No space left on device (ENOSPC); make room there; what "
                             "was copied is removed\n");
}

TEST_F(CopyJobTest, FindsAByteThatWasChanged) {
  make("mkdir a; head -c 100000 /dev/urandom >a/file; ln -s file a/link; echo 1 >b");
  options_.verify = true;
  copy_well();
  const auto verify = [this] {
    const auto checked = copy::verify_tree(tree(), state() + "/manifest", options_, *counters_);
    return checked ? "" : to_line(checked.error());
  };
  EXPECT_EQ(verify(), "");
  shell("cd '" + tree() +
        "'; touch -r a/file time; printf '\\0\\1' | "
        "dd of=a/file bs=1 seek=50000 conv=notrunc status=none; touch -r time a/file; rm time");
  EXPECT_EQ(verify(), "checking a copy by its manifest: " + tree() +
                          "/a/file: found other bytes than were copied; remove it, and copy again");
  copy_well();  // which compares, and mends
  expect_copy();
  EXPECT_EQ(verify(), "");
  EXPECT_EQ(counters_->get().entries, 5U);
  shell("touch '" + tree() + "/more'");
  EXPECT_THAT(verify(), HasSubstr("found 6 entries, not 5"));
  shell("rm '" + tree() + "/more'; ln -sfn other '" + tree() + "/a/link'");
  EXPECT_THAT(verify(), HasSubstr("/a/link: found a link to another place"));
}

// Before its end: here it meets a line that is none.
TEST_F(CopyJobTest, TellsHowFarALookIs) {
  make("mkdir a; for i in $(seq 100); do echo >a/$i; done");
  copy_well();
  shell("echo damaged >>'" + state() + "/manifest'");
  const auto checked = copy::verify_tree(tree(), state() + "/manifest", options_, *counters_);
  EXPECT_FALSE(checked);
  EXPECT_GT(counters_->get().entries, 64U);
  EXPECT_LT(counters_->get().entries, 101U);
}

TEST_F(CopyJobTest, WorksWithoutWhatNewerKernelsHave) {
  make("mkdir a; head -c 3000000 /dev/urandom >a/file; truncate -s 1M hole");
  const child::Outcome outcome = child::run([&] {
    if (!refuse::calls({SYS_copy_file_range, SYS_statx, SYS_openat2, SYS_close_range}, ENOSYS)) {
      return 2;
    }
    return fill() ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_copy();
}

}  // namespace
