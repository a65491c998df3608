#include "init/engine/cluster/hang_dumps.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/fields.h"
#include "base/wire.h"
#include "init/engine/cluster/link_wire.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::size_t kMaxFileBytes = 4UL << 20;
constexpr std::size_t kMaxKeptBytes = 64UL << 20;

struct LeftDumps {
  std::vector<envgen::RecorderDump> dumps;
};
void fields(base::FieldVisitor& v, LeftDumps& left) { v("dumps", left.dumps); }

struct SentDump {
  std::uint32_t look = 0;
  envgen::RecorderDump dump;
};
void fields(base::FieldVisitor& v, SentDump& sent) {
  v("look", sent.look);
  v("dump", sent.dump);
}

std::string read_whole(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string bytes;
  if (!fd.valid()) return bytes;
  bytes.resize(kMaxFileBytes);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::string recorder_file(const std::string& run_dir) {
  return run_dir.empty() ? "" : run_dir + "/recorder";
}

void write_dumps(const std::string& path, const std::vector<envgen::RecorderDump>& dumps) {
  constexpr std::uint32_t kMode = 0600;
  if (dumps.empty()) {
    ::unlink(path.c_str());
    return;
  }
  auto status = sys::write_file_atomic(path, kMode, base::to_wire(LeftDumps{dumps}));
  if (!status) sys::log::warning(to_line(status.error()) + ", ignoring");
}

std::vector<std::string> dump_payloads(const std::string& path, std::uint32_t look) {
  std::vector<std::string> payloads;
  if (path.empty()) return payloads;
  auto left = base::from_wire<LeftDumps>(read_whole(path));
  if (!left) return payloads;
  for (envgen::RecorderDump& dump : left->dumps) {
    std::string payload = base::to_wire(SentDump{look, std::move(dump)});
    if (payload.size() <= kMaxLinkPayload) payloads.push_back(std::move(payload));
  }
  return payloads;
}

bool HangDumps::add(std::string_view payload) {
  auto sent = base::from_wire<SentDump>(payload);
  if (!sent) return false;
  if (sent->look < look_) return true;
  if (sent->look > look_) clear();
  look_ = sent->look;
  if (bytes_ + payload.size() > kMaxKeptBytes) return true;
  bytes_ += payload.size();
  dumps_.push_back(std::move(sent->dump));
  return true;
}

std::span<const envgen::RecorderDump> HangDumps::of(std::uint32_t look) const {
  return look == look_ ? std::span(dumps_) : std::span<const envgen::RecorderDump>();
}

void HangDumps::clear() {
  look_ = 0;
  bytes_ = 0;
  dumps_.clear();
}

}  // namespace engine
