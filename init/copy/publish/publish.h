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

// How a copy was published.
enum class Published : unsigned char {
  kRenamed,    // renamed to a path that did not exist
  kExchanged,  // exchanged with the previous content (RENAME_EXCHANGE)
  kReplaced,   // with two renames, because the file system cannot exchange
  kVersioned,  // as a version below a mount point; the link <destination>/current leads to it
  kUnchanged,  // not published, because the copy existed already
};
const char* published_name(Published published);  // name for messages: "renamed"

struct Publication {
  Published how = Published::kRenamed;
  std::string replaced;  // path to which the previous content was moved; "" if it was not kept
  std::string why;       // how that content was changed, if it was a copy by trainit; "" otherwise
};

// Return paths in the state directory.
std::string tree_of(const Destination& destination);
std::string filling_of(const Destination& destination);
std::string record_of(const Destination& destination);
std::string manifest_of(const Destination& destination);
std::string counters_of(
    const Destination& destination);  // file with the counters of the running copy (progress.h)

// Gives the owner write permission for the directory `path`, which a move to another parent
// requires.
void let_move(const std::string& path);

// Recovers from a run that was killed during a publication: completes the publication and deletes
// its temporary files, but not `tree`. Publication::replaced is the path of previous content that
// was kept.
base::Result<Publication> settle(const Destination& destination, const Keep& keep = {});
// Fails if the destination's content is not the unmodified copy that was published last
// (copy_check.h). `source` is used to compare files with a later ctime; "" = not available.
base::Status check_published(const Destination& destination, const std::string& source,
                             const Options& options, const SharedCounters& counters);
// Fails if publish() would certainly fail. Call it before a copy begins.
base::Status check_publishable(const Destination& destination);
// Fails if the destination cannot be moved aside (EXDEV), as a directory of an image's layer. Call
// it before a copy begins.
base::Status check_replaceable(const Destination& destination);
// Publishes `tree`, then `record`. If the record says `synced`, the copy is written to the disk
// first. Fails if `keep` fails, or if another machine has replaced `tree` because it took the
// destination.
base::Result<Publication> publish(const Destination& destination, const CopyRecord& record,
                                  const Keep& keep = {});

}  // namespace copy
