#pragma once
// Trees that are copied, and how a test sees that a copy is one: by other programs.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "init/copy/tree/copy.h"
#include "init/copy/tree/journal.h"
#include "init/sys/fd.h"
#include "tests/init/child.h"

namespace copy_job {

// What the shell prints.
inline std::string shell(const std::string& script) {
  const child::Outcome outcome = child::run([&script] {
    ::execlp("bash", "bash", "-ec", script.c_str(), nullptr);
    return 127;
  });
  EXPECT_EQ(outcome.code, 0) << script << ": " << outcome.err;
  return outcome.out;
}

// Each entry with its type, mode, owner, links, mtime, target, and a file's size.
inline std::string listing(const std::string& tree) {
  return shell("cd '" + tree +
               "' && find . -type f -printf '%p %y %m %U %G %n %T@ %s\\0' -o "
               "-printf '%p %y %m %U %G %n %T@ %l\\0' | sort -z | tr '\\0' '\\n'");
}

inline void make_parts(const std::string& path, std::uint64_t parts) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  for (std::uint64_t part = 1; part <= parts; ++part) {
    const auto last = static_cast<off_t>(part * copy::kPartSize - 1);
    EXPECT_EQ(::pwrite(file.get(), "x", 1, last), 1) << path;
  }
}

class Fill : public child::Scratch {
 protected:
  Fill() {
    options_.headroom.percent = 0;
    EXPECT_EQ(::mkdir(source().c_str(), 0755), 0);
  }

  std::string only_;  // of the source, the one file that is copied

  [[nodiscard]] std::string source() const { return path("source"); }
  [[nodiscard]] std::string tree() const { return path("tree"); }
  [[nodiscard]] std::string state() const { return path("state"); }

  // Makes the source, in it.
  void make(const std::string& script) const { shell("cd '" + source() + "'\n" + script); }
  // Makes a file of the source that takes long to read and little of the disk: none of its parts is
  // only a hole.
  void make_parts(const std::string& name, std::uint64_t parts) const {
    copy_job::make_parts(source() + "/" + name, parts);
  }
  // As a source is in life: nobody has touched it for a while. Its ctime is past the clock's tick.
  void age() const {
    shell("find '" + source() + "' -exec touch -h -d '2020-02-02 02:02:02.123456789' {} +");
    constexpr timespec kTicks{.tv_sec = 0, .tv_nsec = 60'000'000};
    ::nanosleep(&kTicks, nullptr);
  }

  base::Result<copy::Scan> fill() {
    return copy::run_copy_job({source(), only_}, tree(), state(), options_, *counters_);
  }
  std::string error_of_fill() {
    const auto filled = fill();
    return filled ? "" : to_line(filled.error());
  }
  void copy_well() {
    const auto filled = fill();
    ASSERT_TRUE(filled) << to_line(filled.error());
    const auto scanned = copy::scan_tree({source(), only_}, options_, *counters_);
    ASSERT_TRUE(scanned) << to_line(scanned.error());
    EXPECT_EQ(filled->digest, scanned->digest);
    EXPECT_EQ(filled->size.entries, scanned->size.entries);
    EXPECT_EQ(filled->size.bytes, scanned->size.bytes);
  }
  void expect_copy() const {
    EXPECT_EQ(listing(tree()), listing(source()));
    EXPECT_EQ(shell("diff -r --no-dereference '" + source() + "' '" + tree() + "'"), "");
  }
  [[nodiscard]] const copy::Counters& counters() const { return counters_->get(); }

  copy::Options options_;
  base::Result<copy::SharedCounters> counters_ = copy::SharedCounters::anonymous();
};

}  // namespace copy_job
