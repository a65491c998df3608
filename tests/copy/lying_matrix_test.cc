// The matrix of lying file systems: each lie of tests/lying_fs, and three of them at once, as a
// copy's source or destination. Each is copied to, found again, verified, used by two jobs at once,
// and copied to by a copy that is killed and goes on.
//   TRAINIT_SIM_FROM=n    the first seed of the threes and of the kills, instead of the day's

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/copy/mounts.h"
#include "tests/rules/job.h"
#include "tests/sim/random.h"
#include "tests/sim/seeds.h"

namespace {

using rules::Result;
using rules::Words;
using testing::HasSubstr;
namespace fs = std::filesystem;

enum class Side : unsigned char { kSource, kDestination };

// A lie, and what has to come of it. Lies of one family are about one attribute: of three at once
// each has a family of its own.
struct Lie {
  Side side;
  std::string words;  // of lying_fs
  std::string family;
  std::string said;      // by a copy that is made, of the attribute that is not kept
  std::string refused;   // by a copy that cannot be made; "" = it is made
  std::string no_cache;  // why a job reads the source; "" = it has a copy of the cache
};

std::string name_of(const Lie& lie) {
  return (lie.side == Side::kSource ? "source " : "destination ") + lie.words;
}
void PrintTo(const Lie& lie, std::ostream* out) { *out << name_of(lie); }

std::vector<Lie> destination_lies() {
  constexpr Side kTo = Side::kDestination;
  const std::string step = ") keeps mtimes in steps of ";
  const std::string no_mtimes = ") keeps no mtimes";
  const std::string no_modes = ") keeps no permissions";
  const std::string no_owners = ") keeps no owners";
  const std::string size = ") shows other sizes than files have";
  return {
      {kTo, "none", "none", "", "", ""},
      {kTo, "mtime=100", "mtime", step + "100ns", "", ""},
      {kTo, "mtime=1000", "mtime", step + "1us", "", ""},
      {kTo, "mtime=1000000000", "mtime", step + "1s", "", ""},
      {kTo, "mtime=2000000000,mtime-min=315532800,mtime-max=4354819199", "mtime", step + "2s", "",
       ""},
      {kTo, "mtime-max=1000000000", "mtime", step, "", ""},
      {kTo, "mtime-min=1600000000", "mtime", no_mtimes, "", ""},
      {kTo, "no-utimens", "mtime", no_mtimes, "", ""},
      {kTo, "no-utime-omit", "mtime", "", "", ""},
      {kTo, "mtime-at-close", "mtime", "", "", ""},
      {kTo, "mtime-new", "mtime", no_mtimes, "", ""},
      {kTo, "mtime-dirs-now", "mtime-dirs", "", "", ""},
      {kTo, "ctime-zero", "ctime", "", "", ""},
      {kTo, "no-chmod", "mode", no_modes, "", ""},
      {kTo, "refuse-chmod", "mode", no_modes, "", ""},
      // Strangers could change the copy while it is made.
      {kTo, "fixed-mode", "mode", "", ") lets others write", ") lets others write"},
      {kTo, "no-chown", "owner", no_owners, "", ""},
      {kTo, "refuse-chown", "owner", "", "", ""},
      {kTo, "fixed-owner", "owner", ") keeps no owners", "", ") shows user 1234"},
      {kTo, "no-symlinks", "symlinks", "", "a file system without symbolic links",
       "without symbolic links"},
      {kTo, "no-links", "links", "has no hard links", "", ""},
      {kTo, "one-link", "links", "", "", ""},
      {kTo, "no-exchange", "rename", "", "", ""},
      {kTo, "rename-exdev", "rename", "", ") does not rename directories: Invalid cross",
       ") does not rename directories"},
      {kTo, "fold-case", "names", "", "", ""},
      {kTo, "no-types", "types", "", "", ""},
      {kTo, "statfs-full", "room", "", "looking for room for a copy", "room"},
      {kTo, "statfs-nothing", "room", "", "", ""},
      {kTo, "statfs-huge", "room", "", "", ""},
      {kTo, "one-inode", "inode", "", "", ""},
      // Whoever reads the copy would get another file.
      {kTo, "size-zero", "size", "", size, size},
      {kTo, "size-half", "size", "", size, size},
      {kTo, "size-double", "size", "", size, size},
      {kTo, "no-blocks", "blocks", "", "", ""},
      {kTo, "fail-read=1", "reads", "", "", ""},
  };
}

std::vector<Lie> source_lies() {
  constexpr Side kFrom = Side::kSource;
  const std::string made_up = "its files have other times at each look";
  return {
      {kFrom, "mtime=1000000000", "from mtime", "", "", ""},
      {kFrom, "mtime-max=1000000000", "from mtime", "", "", ""},
      {kFrom, "mtime-new", "from mtime", made_up, "", ""},
      {kFrom, "mtime-dirs-now", "from mtime-dirs", "", "", ""},
      {kFrom, "ctime-zero", "from ctime", "", "", ""},
      {kFrom, "fixed-mode", "from mode", "", "", ""},
      {kFrom, "fixed-owner", "from owner", "", "", ""},
      {kFrom, "no-utimens", "from utimens", "", "", ""},
      {kFrom, "no-types", "from types", "", "", ""},
      {kFrom, "one-link", "from links", "", "", ""},
      {kFrom, "one-inode", "from inode", "", "", ""},
      {kFrom, "inode-new", "from inode", "", "", ""},
      {kFrom, "size-zero", "from size", "", "", ""},
      {kFrom, "size-half", "from size", "", "", ""},
      {kFrom, "size-double", "from size", "", "", ""},
      {kFrom, "no-blocks", "from blocks", "", "", ""},
      {kFrom, "fail-read=1", "from reads", "", "", ""},
      {kFrom, "fold-case", "from names", "", "", ""},
      {kFrom, "statfs-nothing", "from room", "", "", ""},
  };
}

std::vector<Lie> all_lies() {
  std::vector<Lie> lies = destination_lies();
  for (Lie& lie : source_lies()) lies.push_back(std::move(lie));
  return lies;
}

// The destination's lies of these families.
std::vector<Lie> lies_of(const std::set<std::string>& families) {
  std::vector<Lie> lies = destination_lies();
  std::erase_if(lies, [&](const Lie& lie) { return !families.contains(lie.family); });
  return lies;
}

// The names below a directory, and what a reader gets for each.
std::map<std::string, std::string> contents_of(const std::string& root) {
  std::map<std::string, std::string> contents;
  if (!fs::exists(root)) return contents;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().string().substr(root.size());
    if (entry.is_symlink()) {
      contents[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else {
      contents[name] = entry.is_directory() ? "directory" : child::Scratch::read(entry.path());
    }
  }
  return contents;
}

class LyingMatrix : public child::Scratch {
 protected:
  LyingMatrix() {
    for (const char* name : {"true", "seen", "seen/source", "disk", "back", "back/cache"}) {
      EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    make_source();
    expected_ = contents_of(path("true/source"));
  }

  void run(const std::vector<Lie>& lies, std::uint64_t seed) {
    if (!mounts::may_lie()) GTEST_SKIP() << "no tests/lying_fs, or no right to mount";
    lies_ = lies;
    std::string from;
    std::string to;
    std::string trace = "TRAINIT_SIM_FROM=" + std::to_string(sim::first_seed());
    for (const Lie& lie : lies) {
      std::string& words = lie.side == Side::kSource ? from : to;
      words += (words.empty() ? "" : ",") + lie.words;
      trace += ", " + name_of(lie);
    }
    SCOPED_TRACE(trace);
    source_ = path(from.empty() ? "true/source" : "seen/source");
    // Fewer than a copy makes: nothing else is killed.
    constexpr std::uint64_t kCalls = 40;
    if (to.empty()) to = "none";
    if (!refused()) to += ",kill-at=" + std::to_string(1 + sim::Random(seed).below(kCalls));
    SCOPED_TRACE(to);
    const auto mount = [&] {
      return mounts::lie(to, path("back"), path("disk")) &&
             (from.empty() || mounts::lie(from, path("true/source"), path("seen/source")));
    };
    mounts::with(mount, [this] {
      if (!refused()) kill_and_go_on();
      copy_and_copy_again();
      verify();
      use_by_two_jobs();
      if (!refused()) replace();
    });
  }

 private:
  void make_source() const {
    const std::string at = "true/source/";
    for (const char* name : {"true/source", "true/source/d", "true/source/d/empty"}) {
      EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    constexpr int kLarge = 300'000;
    constexpr std::uintmax_t kHole = 1'500'000;
    write(at + "a", "one of them");
    write(at + "d/b", "another one");
    write(at + "d/none", "");
    write(at + "large", std::string(kLarge, 'x') + "end", 0440);
    write(at + "linked", "of two names");
    write(at + "sparse", "begin");
    fs::resize_file(path(at + "sparse"), kHole);
    fs::create_hard_link(path(at + "linked"), path(at + "d/linked"));
    fs::create_symlink("d/b", path(at + "link"));
    constexpr time_t kFirst = 1'600'000'001;
    long count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path("true/source"))) {
      ++count;
      const timespec time{.tv_sec = kFirst + count, .tv_nsec = count * 12'345'678};
      const timespec times[2] = {time, time};
      EXPECT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
    }
  }
  [[nodiscard]] Result copy(const std::string& to, Words options = {}, bool apart = false) const {
    options.insert(options.begin(), {"copy", "--workers", "2"});
    options.insert(options.end(), {source_, path(to.empty() ? "disk" : "disk/" + to)});
    return rules::run({.args = std::move(options), .env = {}, .pid1 = false, .before = [apart] {
                         if (apart) ::setpgid(0, 0);
                       }});
  }

  // The texts of all lies for this field.
  [[nodiscard]] Words texts(std::string Lie::* field) const {
    Words found;
    for (const Lie& lie : lies_) {
      if (!(lie.*field).empty()) found.push_back(lie.*field);
    }
    return found;
  }
  static bool has_one_of(const std::string& text, const Words& parts) {
    return std::ranges::any_of(parts, [&](const auto& part) { return text.contains(part); });
  }
  [[nodiscard]] bool refused() const { return !texts(&Lie::refused).empty(); }

  void expect_refused(const Result& result, const std::string& to) const {
    EXPECT_EQ(result.code, 1) << result.out << result.err;
    EXPECT_TRUE(has_one_of(result.err, texts(&Lie::refused))) << result.err;
    EXPECT_FALSE(fs::exists(path("back/" + (to.empty() ? "current" : to))));
    expect_nothing_twice(to);
  }
  void expect_contents(const std::string& place) const {
    const auto there = contents_of(path("back/" + place));
    for (const auto& [name, text] : expected_) {
      const auto found = there.find(name);
      EXPECT_TRUE(found != there.end() && found->second == text) << place << ": " << name;
    }
    for (const auto& [name, text] : there) {
      EXPECT_TRUE(expected_.contains(name)) << place << ": more than the source: " << name;
    }
  }
  void expect_nothing_twice(const std::string& to) const {
    const std::string state = path("back/.trainit-copy" + (to.empty() ? "" : "." + to));
    if (!fs::exists(state)) return;
    std::set<std::string> may_stay = {"mark",    "lock",     "lease",      "manifest",
                                      "journal", "progress", "record.json"};
    // A later run goes on with what is not finished.
    if (refused()) may_stay.insert({"tree", "filling"});
    int versions = 0;
    for (const auto& entry : fs::directory_iterator(state)) {
      const std::string name = entry.path().filename();
      const bool is_version = to.empty() && name.starts_with("v-");
      versions += is_version ? 1 : 0;
      EXPECT_TRUE(is_version || may_stay.contains(name)) << to << " kept " << name;
    }
    EXPECT_LE(versions, 1);
  }
  void expect_found(const Result& result) const {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("unchanged")) << result.err;
  }

  void copy_and_copy_again() const {
    SCOPED_TRACE("copy, and copy again");
    const Result first = copy("c");
    if (refused()) return expect_refused(first, "c");
    EXPECT_EQ(first.code, 0) << first.err;
    for (const std::string& text : texts(&Lie::said)) EXPECT_THAT(first.err, HasSubstr(text));
    expect_contents("c");
    expect_found(copy("c"));
    expect_nothing_twice("c");
  }

  // A mount point is the place here, which cannot be replaced.
  void verify() const {
    SCOPED_TRACE("verify");
    const Result first = copy("", {"--verify"});
    if (refused()) return expect_refused(first, "");
    EXPECT_EQ(first.code, 0) << first.err;
    expect_contents("current");
    expect_found(copy("", {"--verify"}));
    expect_nothing_twice("");
  }

  void replace() {
    SCOPED_TRACE("replace");
    write("true/source/d/new", "a third one");
    expected_ = contents_of(path("true/source"));
    for (const std::string to : {"c", ""}) {
      const Result result = copy(to);
      EXPECT_EQ(result.code, 0) << result.err;
      expect_contents(to.empty() ? "current" : to);
      expect_nothing_twice(to);
    }
  }

  void kill_and_go_on() const {
    SCOPED_TRACE("kill, and go on");
    constexpr int kKilled = 128 + SIGKILL;
    const Result killed = copy("k", {}, true);
    EXPECT_EQ(killed.code, kKilled) << killed.out << killed.err;
    const Result resumed = copy("k");
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    expect_contents("k");
    expect_found(copy("k"));
    expect_nothing_twice("k");
  }

  [[nodiscard]] rules::Spec job(const std::string& name) const {
    return {.args = {"--data", source_, "--data-root", path("disk/cache"), "--data-workers", "2",
                     "--", "sh", "-c", "echo \"at $TRAINIT_DATASET_SOURCE.\""},
            .env = {"TRAINIT_RUN_DIR=" + path(name), "PATH=/usr/bin:/bin"},
            .pid1 = false};
  }
  [[nodiscard]] static std::string place_of(const std::string& out) {
    const std::size_t at = out.find("at ");
    const std::size_t end = out.find(".\n", at);
    return end == std::string::npos ? "" : out.substr(at + 3, end - at - 3);
  }
  [[nodiscard]] int entries_in_the_cache() const {
    int entries = 0;
    for (const auto& cache : fs::directory_iterator(path("back/cache"))) {
      for (const auto& entry : fs::directory_iterator(cache.path())) {
        entries += entry.path().extension() == ".lock" ? 0 : 1;
      }
    }
    return entries;
  }

  void use_by_two_jobs() const {
    SCOPED_TRACE("two jobs");
    rules::Instance one(job("run-1"));
    rules::Instance two(job("run-2"));
    EXPECT_EQ(one.wait(), 0) << one.err();
    EXPECT_EQ(two.wait(), 0) << two.err();
    const std::string all = one.out() + one.err() + two.out() + two.err();
    const Words reasons = texts(&Lie::no_cache);
    if (!reasons.empty()) {
      EXPECT_EQ(place_of(one.out()), source_) << one.out() << one.err();
      EXPECT_EQ(place_of(two.out()), source_) << two.out() << two.err();
      EXPECT_TRUE(has_one_of(one.err(), reasons)) << one.err();
      EXPECT_TRUE(has_one_of(two.err(), reasons)) << two.err();
      return;
    }
    const std::string place = place_of(one.out());
    EXPECT_EQ(place, place_of(two.out())) << all;
    ASSERT_TRUE(place.starts_with(path("disk/"))) << all;
    expect_contents(place.substr(path("disk/").size()));
    EXPECT_EQ(entries_in_the_cache(), 1) << all;
    EXPECT_EQ(all.find(": copied in "), all.rfind(": copied in ")) << all;
    rules::Instance third(job("run-3"));
    EXPECT_EQ(third.wait(), 0) << third.err();
    EXPECT_THAT(third.out() + third.err(), HasSubstr(": found in "));
    EXPECT_EQ(place, place_of(third.out()));
  }

  std::vector<Lie> lies_;
  std::string source_;
  std::map<std::string, std::string> expected_;
};

class OneLie : public LyingMatrix, public testing::WithParamInterface<Lie> {};

TEST_P(OneLie, IsKnown) {
  const std::uint64_t seed = sim::first_seed();
  run({GetParam()}, seed ^ std::hash<std::string>()(name_of(GetParam())));
}

std::string test_name(const testing::TestParamInfo<Lie>& lie) {
  std::string name = name_of(lie.param);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Quick, OneLie,
                         testing::ValuesIn(lies_of({"inode", "size", "rename", "owner"})),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Long, OneLie, testing::ValuesIn(all_lies()), test_name);

class ThreeLies : public LyingMatrix, public testing::WithParamInterface<int> {
 protected:
  static std::vector<Lie> choose(std::uint64_t seed) {
    sim::Random random(seed);
    std::vector<Lie> all = all_lies();
    std::vector<Lie> chosen;
    std::set<std::string> families = {"none"};
    while (chosen.size() < 3) {
      const Lie& lie = all.at(random.below(all.size()));
      if (families.insert(lie.family).second) chosen.push_back(lie);
    }
    return chosen;
  }
};

TEST_P(ThreeLies, AreKnown) {
  const std::uint64_t seed = sim::first_seed() + static_cast<std::uint64_t>(GetParam());
  run(choose(seed), seed);
}
INSTANTIATE_TEST_SUITE_P(Quick, ThreeLies, testing::Range(0, 2));
INSTANTIATE_TEST_SUITE_P(Long, ThreeLies, testing::Range(2, 12));

}  // namespace
