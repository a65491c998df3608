#include "tests/bench/copy/slow_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/copy/copy_trees.h"
#include "tests/bench/harness.h"

namespace bench {
namespace {

constexpr std::uint32_t kMostWrite = 1 << 20;
constexpr std::uint64_t kKept = 1 << 20;  // bytes of a file
constexpr std::uint64_t kSizeShown = 1ULL << 40;

struct Node {
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t links = 1;
  std::uint64_t size = 0;
  timespec mtime{};
  timespec ctime{};
  std::string bytes;
  std::map<std::string, std::uint64_t, std::less<>> entries;
};

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// What a request has, and what it is answered.
struct Call {
  const fuse_in_header& head;
  const char* body;

  template <class T>
  [[nodiscard]] const T& as() const {
    return *reinterpret_cast<const T*>(body);
  }
  // The strings behind a T.
  template <class T>
  [[nodiscard]] const char* name() const {
    return body + sizeof(T);
  }
};

struct Answer {
  int error = 0;
  std::string bytes;
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::atomic<bool> slow = false;

void begin_to_be_slow(int) { slow = true; }

void pause_us(int us) {
  const timespec delay{us / 1'000'000, us % 1'000'000 * 1000L};
  if (us > 0) nanosleep(&delay, nullptr);
}

class Server {
 public:
  Server(int fd, const SlowCalls& calls) : fd_(fd), calls_(calls) {
    nodes_[FUSE_ROOT_ID] = {.mode = S_IFDIR | 0755, .links = 2, .mtime = now(), .ctime = now()};
  }
  void serve();

 private:
  void reply(std::uint64_t unique, const Answer& answer) const;
  Answer answer(const Call& call);
  Answer change(const Call& call);
  Answer look_up(std::uint64_t parent, const char* name);
  Answer make(std::uint64_t parent, const char* name, mode_t mode, const Call& call);
  Answer remove(std::uint64_t parent, const char* name);
  Answer rename(std::uint64_t from, const char* name, std::uint64_t to, const char* as);
  Answer set(std::uint64_t id, const fuse_setattr_in& in);
  Answer write(const Call& call);
  Answer read(std::uint64_t id, const fuse_read_in& in);
  Answer list(std::uint64_t id, const fuse_read_in& in, bool attributes);
  fuse_attr attributes(std::uint64_t id) const;
  std::string entry_of(std::uint64_t id) const;

  int fd_;
  SlowCalls calls_;
  std::mutex mutex_;
  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t next_ = FUSE_ROOT_ID + 1;
};

fuse_attr Server::attributes(std::uint64_t id) const {
  const Node& node = nodes_.at(id);
  fuse_attr attr{};
  attr.ino = id;
  attr.size = node.size;
  attr.blocks = (node.size + 511) / 512;
  attr.mtime = static_cast<std::uint64_t>(node.mtime.tv_sec);
  attr.mtimensec = static_cast<std::uint32_t>(node.mtime.tv_nsec);
  attr.ctime = static_cast<std::uint64_t>(node.ctime.tv_sec);
  attr.ctimensec = static_cast<std::uint32_t>(node.ctime.tv_nsec);
  attr.mode = node.mode;
  attr.nlink = node.links;
  attr.uid = node.uid;
  attr.gid = node.gid;
  attr.blksize = 4096;
  return attr;
}

std::string Server::entry_of(std::uint64_t id) const {
  fuse_entry_out out{};
  out.nodeid = id;
  out.entry_valid = out.attr_valid = calls_.other_us > 0 ? 1 : 0;
  out.attr = attributes(id);
  return bytes_of(out);
}

Answer Server::look_up(std::uint64_t parent, const char* name) {
  const Node& directory = nodes_.at(parent);
  const auto found = directory.entries.find(std::string_view(name));
  if (found == directory.entries.end()) return {ENOENT, ""};
  return {0, entry_of(found->second)};
}

Answer Server::make(std::uint64_t parent, const char* name, mode_t mode, const Call& call) {
  Node& directory = nodes_.at(parent);
  if (directory.entries.contains(std::string_view(name))) return {EEXIST, ""};
  const std::uint64_t id = next_++;
  nodes_[id] = {.mode = mode,
                .uid = call.head.uid,
                .gid = call.head.gid,
                .links = S_ISDIR(mode) ? 2U : 1U,
                .mtime = now(),
                .ctime = now()};
  directory.entries[name] = id;
  directory.mtime = directory.ctime = now();
  return {0, entry_of(id)};
}

// What is still open stays, as a node without a name.
Answer Server::remove(std::uint64_t parent, const char* name) {
  Node& directory = nodes_.at(parent);
  const auto found = directory.entries.find(std::string_view(name));
  if (found == directory.entries.end()) return {ENOENT, ""};
  Node& node = nodes_.at(found->second);
  if (!node.entries.empty()) return {ENOTEMPTY, ""};
  --node.links;
  directory.entries.erase(found);
  directory.mtime = directory.ctime = now();
  return {};
}

Answer Server::rename(std::uint64_t from, const char* name, std::uint64_t to, const char* as) {
  Node& directory = nodes_.at(from);
  const auto found = directory.entries.find(std::string_view(name));
  if (found == directory.entries.end()) return {ENOENT, ""};
  const std::uint64_t id = found->second;
  directory.entries.erase(found);
  nodes_.at(to).entries[as] = id;
  for (const std::uint64_t one : {from, to}) nodes_.at(one).mtime = nodes_.at(one).ctime = now();
  return {};
}

Answer Server::set(std::uint64_t id, const fuse_setattr_in& in) {
  Node& node = nodes_.at(id);
  if ((in.valid & FATTR_MODE) != 0) node.mode = (node.mode & S_IFMT) | (in.mode & 07777U);
  if ((in.valid & FATTR_UID) != 0) node.uid = in.uid;
  if ((in.valid & FATTR_GID) != 0) node.gid = in.gid;
  if ((in.valid & FATTR_SIZE) != 0) {
    node.size = in.size;
    node.bytes.resize(std::min(in.size, kKept));
  }
  const bool is_now = (in.valid & FATTR_MTIME_NOW) != 0;
  if ((in.valid & FATTR_MTIME) != 0) {
    node.mtime =
        is_now ? now() : timespec{static_cast<time_t>(in.mtime), static_cast<long>(in.mtimensec)};
  }
  node.ctime = now();
  fuse_attr_out out{};
  out.attr = attributes(id);
  return {0, bytes_of(out)};
}

Answer Server::write(const Call& call) {
  const auto& in = call.as<fuse_write_in>();
  pause_us(calls_.write_us);
  const std::scoped_lock lock(mutex_);
  Node& node = nodes_.at(call.head.nodeid);
  node.size = std::max(node.size, in.offset + in.size);
  if (in.offset < kKept) {
    const std::uint64_t end = std::min(in.offset + in.size, kKept);
    node.bytes.resize(std::max<std::size_t>(node.bytes.size(), end));
    memcpy(node.bytes.data() + in.offset, call.name<fuse_write_in>(), end - in.offset);
  }
  node.mtime = node.ctime = now();
  return {0, bytes_of(fuse_write_out{in.size, 0})};
}

Answer Server::read(std::uint64_t id, const fuse_read_in& in) {
  const Node& node = nodes_.at(id);
  if (in.offset >= node.size) return {};
  std::string bytes(std::min<std::uint64_t>(in.size, node.size - in.offset), '\0');
  if (in.offset < node.bytes.size()) {
    const std::size_t kept = std::min(bytes.size(), node.bytes.size() - in.offset);
    memcpy(bytes.data(), node.bytes.data() + in.offset, kept);
  }
  return {0, std::move(bytes)};
}

Answer Server::list(std::uint64_t id, const fuse_read_in& in, bool attributes) {
  std::string bytes;
  std::uint64_t at = 0;
  for (const auto& [name, entry] : nodes_.at(id).entries) {
    if (at++ < in.offset) continue;
    fuse_dirent dirent{};
    dirent.ino = entry;
    dirent.off = at;
    dirent.namelen = static_cast<std::uint32_t>(name.size());
    dirent.type = IFTODT(nodes_.at(entry).mode);
    std::string record = attributes ? entry_of(entry) : "";
    record.append(reinterpret_cast<const char*>(&dirent), FUSE_NAME_OFFSET);
    record += name;
    record.resize(FUSE_DIRENT_ALIGN(record.size()));
    if (bytes.size() + record.size() > in.size) break;
    bytes += record;
  }
  return {0, std::move(bytes)};
}

// What changes the tree.
Answer Server::change(const Call& call) {
  const std::uint64_t id = call.head.nodeid;
  switch (call.head.opcode) {
    case FUSE_SETATTR:
      return set(id, call.as<fuse_setattr_in>());
    case FUSE_MKDIR:
      return make(id, call.name<fuse_mkdir_in>(), S_IFDIR | call.as<fuse_mkdir_in>().mode, call);
    case FUSE_CREATE: {
      Answer made =
          make(id, call.name<fuse_create_in>(), S_IFREG | call.as<fuse_create_in>().mode, call);
      fuse_open_out out{};
      out.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
      if (made.error == 0) made.bytes += bytes_of(out);
      return made;
    }
    case FUSE_UNLINK:
    case FUSE_RMDIR:
      return remove(id, call.body);
    case FUSE_RENAME: {
      const char* name = call.name<fuse_rename_in>();
      return rename(id, name, call.as<fuse_rename_in>().newdir, name + strlen(name) + 1);
    }
    case FUSE_RENAME2: {
      if (call.as<fuse_rename2_in>().flags != 0) return {EINVAL, ""};
      const char* name = call.name<fuse_rename2_in>();
      return rename(id, name, call.as<fuse_rename2_in>().newdir, name + strlen(name) + 1);
    }
    default:
      return {ENOSYS, ""};
  }
}

Answer Server::answer(const Call& call) {
  const std::uint64_t id = call.head.nodeid;
  if (call.head.opcode == FUSE_WRITE) return write(call);
  switch (call.head.opcode) {
    case FUSE_LOOKUP:
    case FUSE_GETATTR:
    case FUSE_OPEN:
    case FUSE_READ:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      if (slow) pause_us(calls_.other_us);
      break;
    default:
      break;
  }
  const std::scoped_lock lock(mutex_);
  switch (call.head.opcode) {
    case FUSE_INIT: {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = std::min<std::uint32_t>(call.as<fuse_init_in>().minor, FUSE_KERNEL_MINOR_VERSION);
      out.flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ATOMIC_O_TRUNC | FUSE_PARALLEL_DIROPS;
      if (calls_.lists_attributes) out.flags |= FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO;
      out.max_background = out.congestion_threshold = static_cast<std::uint16_t>(calls_.streams);
      out.max_write = kMostWrite;
      out.max_pages = kMostWrite / 4096;
      return {0, bytes_of(out)};
    }
    case FUSE_LOOKUP:
      return look_up(id, call.body);
    case FUSE_GETATTR: {
      fuse_attr_out out{};
      out.attr_valid = calls_.other_us > 0 ? 1 : 0;
      out.attr = attributes(id);
      return {0, bytes_of(out)};
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
      fuse_open_out out{};
      const bool file = call.head.opcode == FUSE_OPEN;
      if (file) out.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
      if (file && (call.as<fuse_open_in>().flags & O_TRUNC) != 0) {
        nodes_.at(id).size = 0;
        nodes_.at(id).bytes.clear();
      }
      return {0, bytes_of(out)};
    }
    case FUSE_READ:
      return read(id, call.as<fuse_read_in>());
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      return list(id, call.as<fuse_read_in>(), call.head.opcode == FUSE_READDIRPLUS);
    case FUSE_STATFS: {
      fuse_statfs_out out{};
      out.st.bsize = out.st.frsize = 4096;
      out.st.blocks = out.st.bfree = out.st.bavail = kSizeShown / 4096;
      out.st.files = out.st.ffree = 1 << 20;
      out.st.namelen = 255;
      return {0, bytes_of(out)};
    }
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
    case FUSE_FSYNCDIR:
      return {};
    default:
      return change(call);
  }
}

void Server::reply(std::uint64_t unique, const Answer& answer) const {
  fuse_out_header head{};
  head.unique = unique;
  head.error = -answer.error;
  std::string bytes = bytes_of(head);
  if (answer.error == 0) bytes += answer.bytes;
  head.len = static_cast<std::uint32_t>(bytes.size());
  memcpy(bytes.data(), &head, sizeof head);
  if (::write(fd_, bytes.data(), bytes.size()) < 0 && errno != ENOENT) fail("answering FUSE");
}

void Server::serve() {
  std::vector<char> buffer(kMostWrite + 65536);
  for (;;) {
    const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == ENOENT)) continue;
    if (size < static_cast<ssize_t>(sizeof(fuse_in_header))) return;  // unmounted
    const auto& head = *reinterpret_cast<const fuse_in_header*>(buffer.data());
    const bool silent = head.opcode == FUSE_FORGET || head.opcode == FUSE_BATCH_FORGET ||
                        head.opcode == FUSE_INTERRUPT;
    if (silent) continue;
    reply(head.unique, answer({head, buffer.data() + sizeof head}));
  }
}

}  // namespace

int serve_slow_disk(const std::string& mount_point, const SlowCalls& calls) {
  signal(SIGUSR1, begin_to_be_slow);
  prctl(PR_SET_TIMERSLACK, 1000);  // ns
  const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd < 0) return 1;
  const std::string options = text("fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
  if (mount("slow", mount_point.c_str(), "fuse", 0, options.c_str()) != 0) return 1;
  Server server(fd, calls);
  std::vector<std::thread> threads;
  for (int i = 0; i < calls.streams; ++i) threads.emplace_back([&server] { server.serve(); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

SlowDisk::SlowDisk(const std::string& self, std::string mount_point, const SlowCalls& calls)
    : mount_point_(std::move(mount_point)) {
  if (mkdir(mount_point_.c_str(), 0755) != 0) fail(mount_point_);
  struct stat before{};
  stat(mount_point_.c_str(), &before);
  server_ = start(Command({self, "--program", "slow-disk", mount_point_, text("%d", calls.write_us),
                           text("%d", calls.other_us), text("%d", calls.streams),
                           text("%d", calls.lists_attributes ? 1 : 0)}),
                  {.place = Place::kHere});
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks && !there_; ++i) {
    struct stat now{};
    there_ = stat(mount_point_.c_str(), &now) == 0 && now.st_dev != before.st_dev;
    if (!there_) poll(nullptr, 0, 5);
  }
}

void SlowDisk::begin() const { kill(server_, SIGUSR1); }

SlowDisk::~SlowDisk() {
  umount2(mount_point_.c_str(), MNT_DETACH);
  kill_and_finish(server_);
  rmdir(mount_point_.c_str());
}

}  // namespace bench
