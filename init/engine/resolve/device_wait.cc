#include "init/engine/resolve/device_wait.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "init/doctor/doctor.h"
#include "init/doctor/holders.h"
#include "init/proc/tree.h"
#include "init/sys/clock.h"

namespace engine {
namespace {

// Limits for one check of the devices. The driver's tool can take some seconds on a machine with
// sixteen devices.
constexpr std::int64_t kMinLookMs = 1000;
constexpr std::int64_t kMaxLookMs = 10'000;
constexpr std::int64_t kFirstPollMs = 100;
constexpr std::int64_t kMaxPollMs = 1000;

}  // namespace

void wait_for_devices(envgen::Plan& plan, const envgen::Snapshot& base, std::uint32_t restarts,
                      const std::function<void(const std::string&)>& say) {
  if (restarts == 0 || !plan.device_wait) return;
  const envgen::DeviceWait& wait = *plan.device_wait;
  doctor::Context context = doctor::context_of(plan, base.env);
  context.limit_ms = std::clamp(wait.timeout_ms, kMinLookMs, kMaxLookMs);
  const auto init = proc::find_member(::getppid());
  const std::int64_t deadline_ms = sys::monotonic_ms() + wait.timeout_ms;
  std::string told;
  std::int64_t poll_ms = kFirstPollMs;
  while (true) {
    const doctor::DeviceHolders found =
        doctor::find_holders(context, wait.devices, init ? init->start : 0);
    if (found.held.empty()) {
      if (found.unknown.empty()) return;
      return plan.warnings.push_back("it is not known whether the devices are free: " +
                                     found.unknown);
    }
    const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
    if (left_ms <= 0) {
      return plan.warnings.push_back("the job starts although its devices are in use for " +
                                     base::seconds(wait.timeout_ms) +
                                     " (--device-wait): " + found.held);
    }
    if (found.held != told) say("the devices: " + found.held);
    told = found.held;
    sys::pause_ms(std::min(left_ms, poll_ms));
    poll_ms = std::min(poll_ms * 3 / 2, kMaxPollMs);
  }
}

}  // namespace engine
