#pragma once
// A claim says which machine works at a destination, where machines share its file system but no
// locks: a file in the state directory that one machine makes, touches every few seconds, and
// removes. Processes of one machine keep each other out by a lock; whoever takes a claim has that
// lock.
//
//   <state>/claim   "<boot id> <pid> <a number>\n"
//
// One of this boot is of a process that was killed: it had the lock. One of another boot that
// nobody has touched for `patience_ms`, by our own clock, is of a machine that has gone. Whoever
// was only asleep so long finds its claim taken, and ends. It is no proof on a file system that
// shows names late to others: what is at the destination is still complete, but of either.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/tree/copy.h"

namespace copy {

struct Patience {
  std::int64_t stale_ms = 30'000;
  std::int64_t beat_ms = 3'000;
  std::int64_t settle_ms = 1'000;  // others may take what is abandoned at the same time
};

class Claim {
 public:
  // Waits for another machine's. Without a boot id nothing can be told, and on a full disk nothing
  // be written: it is not valid then, and holds nobody up.
  static envgen::Result<Claim> take(const std::string& state, const Options& options,
                                    const std::string& boot_id, const Patience& patience = {});
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  // To be called often. An error: another machine has taken it.
  envgen::Status keep();
  envgen::Status check() const;
  // It was another machine's, of which processes may still write to what is there.
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
