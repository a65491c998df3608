#pragma once
// Brings a finished copy to its place, so that whoever looks sees what was there before or all of
// the new one. It may be killed at any instant: settle() of the next run ends what was begun.
//
// In the state directory (place.h), which whoever calls has locked:
//   tree         what is being filled; right after an exchange the old copy
//   filling/     the scratch space of who fills it, and its manifest
//   journal      "publishing", or "published", and which inodes these were
//   record.next, record.json, manifest
//   old          a copy of ours that was replaced, to be removed
//   replaced-*   what was there and was no copy of ours: kept
//   v-*          of a mount point: the versions that <place>/current points to

#include <cstdint>
#include <string>

#include "envgen/copy_record.h"
#include "envgen/result.h"
#include "init/copy/copy.h"
#include "init/copy/place.h"

namespace copy {

struct Publication {
  Published how = Published::kRenamed;
  std::string replaced;  // where what was there before is kept; "" = nothing was, or it was ours
};

std::string tree_of(const Destination& place);
std::string filling_of(const Destination& place);
std::string record_of(const Destination& place);

// Ends what a killed run has begun, and removes what it left; the tree stays.
envgen::Status settle(const Destination& place);
// What is at the place is the tree that was brought there last.
bool is_published(const Destination& place);
// Nothing is known to be in the way; said before hours of copying.
envgen::Status check_publishable(const Destination& place);
// The tree to its place, then `record`. A record that says `synced` goes after an fsync.
envgen::Result<Publication> publish(const Destination& place, const envgen::CopyRecord& record);

}  // namespace copy
