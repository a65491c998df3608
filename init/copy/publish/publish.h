#pragma once
// Publication of a finished copy at its destination: readers see the previous content or the whole
// new copy. The publication can be killed at any instant; settle() of the next run completes it.
//
// Files in the state directory (destination.h), which the caller has locked:
//   tree         the unfinished copy; right after an exchange, the previous content
//   filling/     the scratch space of the copying processes, and their manifest
//   journal      see publication_journal.h
//   record.next, record.json, manifest
//   old          the previous content between two renames
//   gone-*       an unmodified copy by trainit, to be deleted
//   replaced-*   previous content that is modified, or not a copy by trainit: kept
//   v-*          of a mount point: the versions that <destination>/current points to

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/copy_record.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"

namespace copy {

// The means of a publication.
enum class Published : unsigned char {
  kRenamed,    // a rename to a path that did not exist
  kExchanged,  // an exchange with the previous content (RENAME_EXCHANGE)
  kReplaced,   // two renames: the file system cannot exchange
  kVersioned,  // as a version of a mount point: <destination>/current is a link to it
  kUnchanged,  // no publication: the copy existed already
};
const char* published_name(Published published);  // "renamed"

struct Publication {
  Published how = Published::kRenamed;
  std::string replaced;  // the path of the previous content, if that was kept; else ""
  std::string why;       // the change of that content, if it was a copy by trainit; else ""
};

// Return paths in the state directory.
std::string tree_of(const Destination& destination);
std::string filling_of(const Destination& destination);
std::string record_of(const Destination& destination);
std::string manifest_of(const Destination& destination);
std::string counters_of(
    const Destination& destination);  // counters of the running copy (progress.h)

// Gives the owner of a directory the permission that a move to another parent takes.
void let_move(const std::string& path);

// Recovers from a run that was killed during publication: completes the publication and deletes its
// temporary files, but not `tree`. Publication::replaced is the path of kept previous content.
base::Result<Publication> settle(const Destination& destination, const Keep& keep = {});
// Fails if the destination's content is not the copy that was published last, unmodified
// (copy_check.h). `source`: for the comparison of files with a later ctime; "" = not available.
base::Status check_published(const Destination& destination, const std::string& source,
                             const Options& options, const SharedCounters& counters);
// Fails if a publication would fail, as far as that can be known. Call it before a copy begins.
base::Status check_publishable(const Destination& destination);
// Returns an error if the destination cannot be moved aside, as a directory of an image's layer
// (EXDEV). Call before a copy begins.
base::Status check_replaceable(const Destination& destination);
// Publishes `tree`, then `record`; after an fsync if the record says `synced`. Errors: one of
// `keep` or a replaced `tree`, because another machine has taken the destination.
base::Result<Publication> publish(const Destination& destination, const CopyRecord& record,
                                  const Keep& keep = {});

}  // namespace copy
