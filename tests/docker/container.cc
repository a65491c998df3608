#include "tests/docker/container.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace docker {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Far above what anything here takes; a test that reaches it has failed.
std::chrono::seconds wait_deadline{180};

int left_ms(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Imported from a tar of static binaries: no registry, and nothing in it that could help trainit.
class Engine : public testing::Environment {
 public:
  void SetUp() override {
    if (variable("DOCKER_HOST").empty() && !variable("TRAINIT_ENGINE").empty()) {
      const std::string host = first_line_of(variable("TRAINIT_ENGINE"));
      if (!host.empty()) setenv("DOCKER_HOST", host.c_str(), 1);
    }
    const Output version = run_program({"docker", "version"});
    available_ = version.code == 0;
    if (!available_) {
      if (variable("TRAINIT_DOCKER_MUST_WORK") == "1") FAIL() << version.text;
      return;
    }
    import();
    if (!testing::Test::HasFatalFailure()) check_mounts();
  }

  void TearDown() override {
    if (!image_.empty()) run_program({"docker", "rmi", "-f", image_});
  }

  [[nodiscard]] bool available() const { return available_; }
  [[nodiscard]] const std::string& image() const { return image_; }

 private:
  void import() {
    const Scratch scratch;
    const fs::path root = scratch.path("root");
    for (const char* folder : {"usr/local/bin", "etc", "run", "tmp", "job"}) {
      fs::create_directories(root / folder);
    }
    fs::permissions(root / "tmp", fs::perms::all | fs::perms::sticky_bit);
    fs::permissions(root / "job", fs::perms::all);
    fs::copy_file(variable("TRAINIT_BINARY"), root / "usr/local/bin/trainit");
    fs::copy_file(variable("TRAINIT_PAYLOAD"), root / "usr/local/bin/payload");
    scratch.write("root/etc/passwd", "root:x:0:0::/:/bin/sh\nma-user:x:1000:100::/job:/bin/sh\n");
    const std::string tar = scratch.path("image.tar");
    const Output packed = run_program({"tar", "-C", root, "-cf", tar, "."});
    ASSERT_EQ(packed.code, 0) << packed.text;
    const std::string name = unique_name();
    const Output imported =
        run_program({"docker", "import", "--change", R"(ENTRYPOINT ["trainit"])", "--change",
                     "WORKDIR /job", tar, name});
    ASSERT_EQ(imported.code, 0) << imported.text;
    image_ = name;
  }

  // An engine on another machine, or behind a socket mounted into this container, sees other files.
  void check_mounts() const {
    const Scratch scratch;
    const Container probe(
        {"-v", scratch.path("") + ":/out", "-e", "PAYLOAD_OUT=/out", "--entrypoint=payload"},
        {"sleep-forever"});
    scratch.await("ready-0");
    ASSERT_FALSE(testing::Test::HasFailure()) << "the engine at '" << variable("DOCKER_HOST")
                                              << "' does not see the files of this machine";
  }

  bool available_ = false;
  std::string image_;
};

// GoogleTest owns it.
Engine* const kEngine = static_cast<Engine*>(testing::AddGlobalTestEnvironment(new Engine));

}  // namespace

Program::Program(const Words& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Program::~Program() {
  close(pipe_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

bool Program::read_some(int timeout_ms) {
  pollfd readable{pipe_, POLLIN, 0};
  if (poll(&readable, 1, timeout_ms) <= 0) return false;
  std::array<char, 65536> buffer{};
  const ssize_t size = ::read(pipe_, buffer.data(), buffer.size());
  if (size <= 0) return false;
  output_.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

bool Program::await(std::string_view text, int times) {
  const auto deadline = Clock::now() + wait_deadline;
  std::size_t from = 0;
  for (; times > 0; --times) {
    std::size_t at = 0;
    while ((at = output_.find(text, from)) == std::string::npos) {
      if (!read_some(left_ms(deadline))) return false;
    }
    from = at + text.size();
  }
  return true;
}

bool Program::await_more_than(std::size_t size) {
  const auto deadline = Clock::now() + wait_deadline;
  while (output_.size() <= size) {
    if (!read_some(left_ms(deadline))) return false;
  }
  return true;
}

int Program::finish() {
  const auto deadline = Clock::now() + wait_deadline;
  while (read_some(left_ms(deadline))) {
  }
  if (left_ms(deadline) == 0) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Output run_program(const Words& argv) {
  Program program(argv);
  const int code = program.finish();
  return {code, program.output()};
}

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "trainit-test.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) abort();
  root_ = pattern;
  chmod(root_.c_str(), 0777);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Scratch::path(std::string_view name) const { return root_ + "/" + std::string(name); }

bool Scratch::has(std::string_view name) const { return fs::exists(path(name)); }

std::string Scratch::read(std::string_view name) const {
  const std::ifstream file(path(name), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void Scratch::write(std::string_view name, std::string_view content) const {
  std::ofstream file(path(name), std::ios::binary | std::ios::trunc);
  file << content;
}

void Scratch::replace(std::string_view name, std::string_view content) const {
  const std::string beside = std::string(name) + ".new";
  write(beside, content);
  fs::rename(path(beside), path(name));
}

void Scratch::await(const std::string& name) const {
  const auto deadline = Clock::now() + wait_deadline;
  const fs::path file = path(name);
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, file.parent_path().c_str(), IN_CREATE | IN_MOVED_TO);
  while (!fs::exists(file)) {
    pollfd changed{watch, POLLIN, 0};
    if (poll(&changed, 1, left_ms(deadline)) <= 0) {
      ADD_FAILURE() << "no file " << name << " after " << wait_deadline.count() << " s";
      break;
    }
    std::array<char, 4096> events{};
    if (::read(watch, events.data(), events.size()) <= 0) break;
  }
  close(watch);
}

void set_deadline(std::chrono::seconds deadline) { wait_deadline = deadline; }

Container::Container(const Words& flags, const Words& args, const Place& place)
    : name_(unique_name()) {
  Words argv = {"docker", "run", "--detach", "--network", place.network, "--name", name_};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.push_back(place.image.empty() ? image() : place.image);
  argv.insert(argv.end(), args.begin(), args.end());
  const Output started = run_program(argv);
  EXPECT_EQ(started.code, 0) << started.text;
}

Container::~Container() {
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "the container said:\n" << logs().substr(0, 8192);
  }
  run_program({"docker", "rm", "--force", "--volumes", name_});
}

int Container::wait() const {
  const Output waited = run_program({"docker", "wait", name_});
  EXPECT_EQ(waited.code, 0) << "the container did not end: " << waited.text;
  return waited.code == 0 ? atoi(waited.text.c_str()) : -1;
}

void Container::stop() const {
  const Output stopped = run_program({"docker", "stop", "-t", std::to_string(kUntilKillS), name_});
  EXPECT_EQ(stopped.code, 0) << stopped.text;
}

std::string Container::logs() const { return run_program({"docker", "logs", name_}).text; }

bool Container::await_log(std::string_view text, int times) const {
  Program follower({"docker", "logs", "--follow", name_});
  return follower.await(text, times);
}

Output Container::exec(const Words& argv) const {
  Words words = {"docker", "exec", name_};
  words.insert(words.end(), argv.begin(), argv.end());
  return run_program(words);
}

std::string Container::inspect(const std::string& format) const {
  std::string text = run_program({"docker", "inspect", "--format", format, name_}).text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string unique_name() {
  static int count = 0;
  return "trainit-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

const std::string& image() { return kEngine->image(); }

void EngineTest::SetUp() {
  if (!kEngine->available()) GTEST_SKIP() << "no Docker engine";
  if (kEngine->image().empty()) FAIL() << "there is no image";
}

}  // namespace docker
