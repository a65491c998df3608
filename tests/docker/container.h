#pragma once
// Containers for tests, by the docker program of a real engine. Every wait has a deadline and is
// for an event: a file that appears, a line in the log, the container's end.
//
// The engine is DOCKER_HOST's, else the one that engine.sh has written into the file
// TRAINIT_ENGINE; without one the tests skip, or fail when TRAINIT_DOCKER_MUST_WORK=1. The image
// holds the release binary (TRAINIT_BINARY), the payload (TRAINIT_PAYLOAD) and as good as nothing
// else.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace docker {

using Words = std::vector<std::string>;

// A program with its stdout and stderr in one pipe. Ends with this object.
class Program {
 public:
  explicit Program(const Words& argv);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Reads until `text` has come so often; false: it ended, or the deadline passed, without.
  bool await(std::string_view text, int times = 1);
  // Reads until there is more than `size` bytes of output.
  bool await_more_than(std::size_t size);
  // Reads to the end; the exit code, -1 when the deadline passed.
  int finish();
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some(int timeout_ms);  // false: the end, or the deadline
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
};

struct Output {
  int code = 0;
  std::string text;
};
Output run_program(const Words& argv);

// A directory of this machine for bind mounts, writable for all users; removed with this object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::string read(std::string_view name) const;  // "" when absent
  // In place, as a writer without manners does it.
  void write(std::string_view name, std::string_view content) const;
  // Beside it, then renamed over it.
  void replace(std::string_view name, std::string_view content) const;
  // Until a file of this name is there; fails the test at the deadline.
  void await(const std::string& name) const;

 private:
  std::string root_;
};

// The seconds from Docker's TERM to its KILL. Whoever ends in its grace ends long before, on
// whatever machine; a Docker that is as short as the grace would decide by chance who is first.
inline constexpr int kUntilKillS = 120;

// Every wait's deadline from now on; 180 s at first, far above what a small payload takes.
void set_deadline(std::chrono::seconds deadline);

struct Place {
  std::string network = "none";
  std::string image;  // "" = image()
};

// A detached container; removed with this object.
class Container {
 public:
  // docker run FLAGS IMAGE ARGS. The image's entrypoint is trainit.
  Container(const Words& flags, const Words& args, const Place& place = {});
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  int wait() const;          // for its end; its exit code
  void stop() const;         // docker stop: TERM, and KILL after kUntilKillS
  std::string logs() const;  // stdout and stderr so far
  // Until it is in the log so often.
  bool await_log(std::string_view text, int times = 1) const;
  Output exec(const Words& argv) const;
  std::string inspect(const std::string& format) const;

 private:
  std::string name_;
};

std::string unique_name();
const std::string& image();

// Skips where there is no engine.
class EngineTest : public testing::Test {
 protected:
  void SetUp() override;
};

}  // namespace docker
