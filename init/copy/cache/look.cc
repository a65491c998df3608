#include "init/copy/cache/look.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "init/copy/tree/standing.h"
#include "init/sys/boot.h"
#include "init/sys/files.h"

namespace copy {

Look look_at(const Slot& slot, const envgen::CopyRecord& wanted, bool verify) {
  auto record = read_record(slot);
  if (!record) return {.found = Found::kBroken, .record = {}, .why = to_line(record.error())};
  if (!*record) return {};
  Look look{.found = Found::kReady, .record = std::move(**record), .why = ""};
  if (look.record.source != wanted.source || look.record.identity != wanted.identity ||
      look.record.version != wanted.version || look.record.options != wanted.options) {
    look.found = Found::kBroken;
    look.why = slot.record() + " is of another source";
  } else if (::access(slot.data().c_str(), F_OK) != 0) {
    look.found = Found::kBroken;
    look.why = slot.data() + ": " + sys::errno_text(errno);
  } else if (!can_be_trusted(look.record, sys::boot_id())) {
    look.found = Found::kUnsure;
    look.why = "the machine was started anew before it was on the disk";
  } else if (verify && !look.record.hashed) {
    look.found = Found::kUnsure;
    look.why = "it was copied without --verify";
  }
  return look;
}

Look look_through(const Slot& slot, const envgen::CopyRecord& wanted, const Options& options) {
  Look look = look_at(slot, wanted, options.verify);
  const bool published =
      look.found == Found::kReady ||
      (look.found == Found::kUnsure && can_be_trusted(look.record, sys::boot_id()));
  if (!published) return look;
  const auto counters = SharedCounters::anonymous();
  const envgen::Status standing =
      !counters ? std::unexpected(counters.error())
                : check_standing({slot.data(), slot.manifest(), slot.record()},
                                 {.hashed = look.record.hashed, .source = wanted.source}, options,
                                 *counters);
  if (standing) return look;
  look.found = Found::kChanged;
  look.why = standing.error().where + ": " + standing.error().found;
  return look;
}

}  // namespace copy
