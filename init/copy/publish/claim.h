#pragma once
// A claim says which machine works at a destination whose file system machines share without
// sharing locks: a file in the state directory that one machine creates, touches every few seconds,
// and removes. Processes of one machine exclude each other by a lock, which the holder of a claim
// has.
//
//   <state>/claim   "<boot id> <pid> <a number>\n"
//
// A claim of this boot belongs to a killed process, as this process has the lock now. A claim of
// another boot that has not been touched for `stale_ms`, by this machine's clock, is abandoned. A
// machine that only slept so long finds its claim taken, and gives up. On a file system that shows
// names late to other machines two can hold a claim: the destination is then a complete copy of
// one.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/tree/copy.h"

namespace copy {

struct ClaimTimeouts {
  std::int64_t stale_ms = 30'000;
  std::int64_t beat_ms = 3'000;
  std::int64_t settle_ms =
      1'000;  // time between taking an abandoned claim and checking for a rival
};

class Claim {
 public:
  // Blocks while another machine has a claim. Without a boot id, or on a full disk, the claim is
  // not valid and excludes no other machine.
  static base::Result<Claim> take(const std::string& state, const Options& options,
                                  const std::string& boot_id, const ClaimTimeouts& timeouts = {});
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  // Touches the claim when it is due. Call it several times a second. An error: another machine has
  // taken the claim.
  base::Status keep();
  base::Status check() const;
  // Returns whether the claim was taken from another machine, whose processes may still write.
  [[nodiscard]] bool abandoned() const { return abandoned_; }

 private:
  Claim(std::string path, std::string text, std::int64_t beat_ms)
      : path_(std::move(path)), text_(std::move(text)), beat_ms_(beat_ms) {}

  std::string path_;
  std::string text_;  // "" = not valid
  std::int64_t beat_ms_;
  std::int64_t next_ms_ = 0;
  bool abandoned_ = false;
};

}  // namespace copy
