#include "tests/rules/job.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <cerrno>

#include "init/sys/clock.h"

namespace rules {

std::string rank_table(int devices) {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    const std::string id = std::to_string(i);
    list += (i == 0 ? "" : ",") + std::string(R"({"device_id":")") + id +
            R"(","device_ip":"10.1.0.)" + std::to_string(i + 1) + R"(","rank_id":")" + id + "\"}";
  }
  return R"({"version":"1.0","server_count":"1","status":"completed",
"server_list":[{"server_id":"10.0.0.1","device":[)" +
         list + "]}]}";
}

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

JobTest::JobTest() {
  for (const char* name : {"out", "home", "run"}) ::mkdir(path(name).c_str(), 0755);
}

Words JobTest::env() const {
  return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TRAINIT_RUN_DIR=" + path("run"),
          "PAYLOAD_OUT=" + path("out"), "HERE=" + path("")};
}

Words JobTest::ranks(int count, const Words& command, const Words& options) const {
  Words args = {"--rank-table", write("table.json", rank_table(count)), "--work-dir", path("home")};
  return joined(joined(std::move(args), options), joined({"--"}, command));
}

void JobTest::await_file(const std::string& directory, const std::string& name) const {
  const sys::Fd watch(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), path(directory).c_str(), IN_MOVED_TO | IN_CLOSE_WRITE),
            0);
  TestTimeout timeout;
  struct stat status{};
  while (::stat(path(directory + "/" + name).c_str(), &status) != 0) {
    pollfd ready{watch.get(), POLLIN, 0};
    ASSERT_TRUE(timeout.is_left()) << name << " did not come";
    if (::poll(&ready, 1, TestTimeout::kLookMs) != 1) continue;
    std::array<char, 4096> events;
    ASSERT_GT(::read(watch.get(), events.data(), events.size()), 0);
  }
}

Result JobTest::tool(Words args) const {
  return run({.args = std::move(args), .env = env(), .pid1 = false});
}

}  // namespace rules
