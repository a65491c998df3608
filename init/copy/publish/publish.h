#pragma once
// Publication: it brings a finished copy to its destination, so that whoever looks sees what was
// there before or all of the new one. It may be killed at any instant: settle() of the next run
// ends what was begun.
//
// In the state directory (destination.h), which whoever calls has locked:
//   tree         what is being filled; right after an exchange the old copy
//   filling/     the scratch space of who fills it, and its manifest
//   journal      "publishing", or "published", and which inodes these were
//   record.next, record.json, manifest
//   old          what two renames have taken away, undecided
//   gone-*       a copy of ours that a walk has proven to be nothing else, to be removed
//   replaced-*   what was there and was not, or was changed: kept
//   v-*          of a mount point: the versions that <destination>/current points to

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/copy_record.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"

namespace copy {

// How a copy came to its destination.
enum class Published : unsigned char {
  kRenamed,    // there was nothing
  kExchanged,  // with the directory that was there; removed where it was a copy of ours
  kReplaced,   // the same by two renames: the file system cannot exchange
  kVersioned,  // it is a mount point: <destination>/current is a link to a version below it
  kUnchanged,  // it was there already
};
const char* published_name(Published published);  // "renamed"

struct Publication {
  Published how = Published::kRenamed;
  std::string replaced;  // where what was there before is kept; "" = nothing was, or it was ours
  std::string why;       // it is, and was a copy of ours once
};

std::string tree_of(const Destination& destination);
std::string filling_of(const Destination& destination);
std::string record_of(const Destination& destination);

// Ends what a killed run has begun, and removes what it left; the tree stays. What it has put away:
// `replaced` of it.
envgen::Result<Publication> settle(const Destination& destination, const Keep& keep = {});
// What is at the destination is the tree that was brought there last, unchanged (standing.h);
// `source` may be asked where it was touched. The error says what is not as it was.
envgen::Status check_published(const Destination& destination, const std::string& source,
                               const Options& options, const SharedCounters& counters);
// Nothing is known to be in the way; said before hours of copying.
envgen::Status check_publishable(const Destination& destination);
// The tree to its destination, then `record`. A record that says `synced` goes after an fsync. An
// error of `keep`, or another tree than it began with, ends it: another machine has the
// destination.
envgen::Result<Publication> publish(const Destination& destination,
                                    const envgen::CopyRecord& record, const Keep& keep = {});

}  // namespace copy
