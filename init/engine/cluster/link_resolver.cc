#include "init/engine/cluster/link_resolver.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/fields.h"
#include "base/wire.h"
#include "init/proc/host_address.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {
namespace {

constexpr std::int64_t kLimitMs = 5000;
constexpr std::int64_t kAgainMs = 5000;

struct Found {
  std::vector<std::string> addresses;
  std::string why;
};
void fields(envgen::FieldVisitor& v, Found& found) {
  v("addresses", found.addresses);
  v("why", found.why);
}

Found find(const std::string& host, const envgen::Environ& env) {
  auto found = proc::find_addresses(host, env, kLimitMs);
  if (!found) return {{}, to_line(found.error())};
  return {std::move(found->addresses), std::move(found->why)};
}

}  // namespace

LinkResolver::LinkResolver(std::string host, const envgen::Environ& env)
    : host_(std::move(host)), env_(env) {
  is_number_ = proc::is_address(host_);
  if (is_number_) {
    addresses_ = {host_};
  } else {
    start();
  }
}

LinkResolver::~LinkResolver() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  finish();
}

void LinkResolver::look_again() {
  const bool soon = sys::monotonic_ms() - looked_ms_ < kAgainMs;
  if (!is_number_ && !pipe_.valid() && (!soon || addresses_.empty())) start();
}

// It keeps no connection of ours: one that we close has to be closed.
void LinkResolver::start() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  pipe_.reset(ends[0]);
  const sys::Fd write_end(ends[1]);
  looked_ms_ = sys::monotonic_ms();
  pid_ = ::fork();
  if (pid_ == 0) {
    const int kept = write_end.get();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sys::close_descriptors(3, {&kept, 1});
    sys::write_all(kept, envgen::to_wire(find(host_, env_)));
    ::_exit(0);
  }
}

void LinkResolver::ready() {
  std::array<char, 4096> part;
  ssize_t count = 0;
  while ((count = ::read(pipe_.get(), part.data(), part.size())) > 0) {
    answer_.append(part.data(), static_cast<std::size_t>(count));
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  finish();
  const auto found = envgen::from_wire<Found>(std::exchange(answer_, {}));
  if (!found) return;
  why_ = found->why;
  if (!found->addresses.empty()) addresses_ = found->addresses;
}

void LinkResolver::finish() {
  pipe_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace engine
