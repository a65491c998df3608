#pragma once
// A source, a root, and jobs that share the cache in it.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "init/copy/cache/cache.h"
#include "init/copy/cache/cache_entry.h"
#include "init/copy/copy_record.h"
#include "tests/init/child.h"

namespace cached {

inline bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

class Cached : public child::Scratch {
 protected:
  Cached() {
    ::mkdir(path("cache").c_str(), 0755);
    ::mkdir(path("source").c_str(), 0755);
    ::mkdir(path("source/d").c_str(), 0755);
    add("a", "one");
    add("d/b", std::string(100'000, 'b'));
    order.dataset.name = "set";
    order.dataset.source = path("source");
    order.request.root = path("cache");
    order.request.headroom.percent = 0;  // the machine's disk may be full
    order.request.workers = 2;
  }

  // Of long ago, so that an unfinished copy of it is proven by its times.
  void add(const std::string& name, const std::string& content) const {
    const std::string file = write("source/" + name, content);
    timespec then{};
    then.tv_sec = 1'600'000'000;
    const std::array times = {then, then};
    EXPECT_EQ(::utimensat(AT_FDCWD, file.c_str(), times.data(), 0), 0);
  }

  copy::Prepared prepare() const {
    auto prepared = copy::prepare_dataset(order);
    EXPECT_TRUE(prepared) << to_line(prepared.error());
    return prepared ? std::move(*prepared) : copy::Prepared();
  }
  [[nodiscard]] std::string error() const {
    const auto prepared = copy::prepare_dataset(order);
    return prepared ? "prepared" : to_line(prepared.error());
  }
  // Its path without "/data".
  static std::string entry_of(const copy::Prepared& prepared) {
    return prepared.path.substr(0, prepared.path.rfind('/'));
  }
  static std::string record_of(const std::string& entry) {
    return entry + "/.trainit-copy.data/record.json";
  }
  static void change_record(const std::string& entry,
                            const std::function<void(copy::CopyRecord&)>& change) {
    const std::string file = record_of(entry);
    auto record = copy::parse_record(read(file), file);
    ASSERT_TRUE(record) << to_line(record.error());
    change(*record);
    ASSERT_TRUE(sys::write_file_atomic(file, 0644, record_to_json(*record)));
  }
  [[nodiscard]] std::vector<copy::CachedDataset> list() const {
    const auto entries = copy::list_cache(path("cache"));
    EXPECT_TRUE(entries);
    return entries ? *entries : std::vector<copy::CachedDataset>();
  }

  copy::Preparation order;
};

// A process that prepares the dataset, says "<how>\n", and keeps its lease until it is told to end.
// With `stop_before_publishing` it says "publishing\n" and waits for a byte there; while it waits
// for another it says "waits <bytes>\n" once.
class Job {
 public:
  explicit Job(const copy::Preparation& order, bool stop_before_publishing = false)
      : out_(child::make_pipe()), in_(child::make_pipe()) {
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) {
      out_.in.reset();
      in_.out.reset();
      return;
    }
    out_.out.reset();
    in_.in.reset();
    ::_exit(run(order, stop_before_publishing));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    if (pid_ > 0) kill();
  }

  std::string line() {
    std::string text;
    char c = 0;
    while (::read(out_.out.get(), &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  // What it says in the end; the progress in between is left out.
  std::string how() {
    std::string text = line();
    while (text.starts_with("waits ") || text == "publishing") text = line();
    return text;
  }
  void go_on() const { child::say(in_.in.get(), "."); }
  void kill() {
    ::kill(pid_, SIGKILL);
    child::wait_for(std::exchange(pid_, -1));
  }
  int end() {
    go_on();
    return child::wait_for(std::exchange(pid_, -1));
  }

 private:
  int run(copy::Preparation order, bool stop) {
    bool said = false;
    order.report = [&](const copy::Report& report) {
      if (report.counters == nullptr) return;
      if (report.waiting && !said) {
        said = true;
        child::say(out_.in.get(), "waits " + std::to_string(report.counters->bytes.load()) + "\n");
      }
      const bool publishing = !report.waiting && report.counters->phase == copy::Phase::kPublishing;
      if (!publishing || !stop) return;
      stop = false;
      child::say(out_.in.get(), "publishing\n");
      char c = 0;
      if (::read(in_.out.get(), &c, 1) != 1) ::_exit(1);
    };
    const auto prepared = copy::prepare_dataset(order);
    child::say(out_.in.get(), (prepared ? prepared->how : to_line(prepared.error())) + "\n");
    char c = 0;
    const bool told = ::read(in_.out.get(), &c, 1) == 1;
    return prepared && told ? 0 : 1;
  }

  child::Pipe out_;
  child::Pipe in_;
  pid_t pid_ = -1;
};

}  // namespace cached
