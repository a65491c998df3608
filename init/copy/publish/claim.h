#pragma once
// A claim excludes other machines from a destination, if its file system is shared by machines but
// does not share locks. A claim is a file in the state directory. The machine that works at the
// destination creates the file, touches it every few seconds, and deletes it at the end. Processes
// of one machine exclude each other by a lock, which the holder of a claim also has.
//
//   <state>/claim   "<boot id> <pid> <a number>\n"
//
// A claim with this machine's boot id is left from a killed process, because this process has the
// lock now. A claim with another boot id is abandoned if it has not been touched for `stale_ms`, by
// this machine's clock. If a machine only slept that long, it finds its claim taken, and gives up.
// If a file system shows new names late to other machines, two machines can have a claim at once.
// The destination is then a complete copy, made by one of them.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/tree/copy.h"

namespace copy {

struct ClaimTimeouts {
  std::int64_t stale_ms = 30'000;
  std::int64_t beat_ms = 3'000;
  // time between taking an abandoned claim and checking for a rival
  std::int64_t settle_ms = 1'000;
};

class Claim {
 public:
  // Takes the claim. Blocks while another machine has it. Without a boot id, or on a full disk, the
  // result is not valid and excludes no other machine.
  static base::Result<Claim> take(const std::string& state, const Options& options,
                                  const std::string& boot_id, const ClaimTimeouts& timeouts = {});
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  // Touches the claim if it is due. Call it several times a second. Fails if another machine has
  // taken the claim.
  base::Status keep();
  base::Status check() const;
  // Returns true if this claim replaced an abandoned one. The processes of that machine may still
  // write.
  [[nodiscard]] bool abandoned() const { return abandoned_; }

 private:
  Claim(std::string path, std::string text, std::int64_t beat_ms)
      : path_(std::move(path)), text_(std::move(text)), beat_ms_(beat_ms) {}

  std::string path_;
  std::string text_;  // content of the claim file; "" = not valid
  std::int64_t beat_ms_;
  std::int64_t next_ms_ = 0;
  bool abandoned_ = false;
};

}  // namespace copy
