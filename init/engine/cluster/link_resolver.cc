#include "init/engine/cluster/link_resolver.h"

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
void fields(base::FieldVisitor& v, Found& found) {
  v("addresses", found.addresses);
  v("why", found.why);
}

Found find(const std::string& host, const base::Environ& env) {
  auto found = proc::find_addresses(host, env, kLimitMs);
  if (!found) return {{}, to_line(found.error())};
  return {std::move(found->addresses), std::move(found->why)};
}

}  // namespace

LinkResolver::LinkResolver(std::string host, const base::Environ& env)
    : host_(std::move(host)), env_(env) {
  is_number_ = proc::is_address(host_);
  if (is_number_) {
    addresses_ = {host_};
  } else {
    start();
  }
}

void LinkResolver::look_again() {
  if (run_) ready();
  const bool soon = sys::monotonic_ms() - looked_ms_ < kAgainMs;
  if (!is_number_ && !run_ && (!soon || addresses_.empty())) start();
}

void LinkResolver::start() {
  looked_ms_ = sys::monotonic_ms();
  auto run = proc::ChildRun::start({.time_ms = 2 * kLimitMs}, [this](int fd) {
    sys::write_all(fd, base::to_wire(find(host_, env_)));
    return 0;
  });
  if (run) run_.emplace(std::move(*run));
}

void LinkResolver::reap() {
  if (!run_ || run_->fd() >= 0 || !run_->step()) return;
  run_->end(0);
  run_.reset();
}

void LinkResolver::ready() {
  const bool over = run_->step();
  if (!over && run_->fd() >= 0) return;
  const auto found = base::from_wire<Found>(run_->output());
  // If the child has sent its result but not exited, do not wait for it, as it may hang: reap()
  // reaps it later.
  if (over) {
    run_->end(0);
    run_.reset();
  }
  if (!found) return;
  why_ = found->why;
  if (!found->addresses.empty()) addresses_ = found->addresses;
}

}  // namespace engine
