#pragma once
// The unfinished copy at a destination: `tree` and `filling` in the state directory (publish.h).
// The caller must have locked the destination. The file `filling/source` names the source of the
// unfinished copy: "<inode> <path>\n".

#include <string>

#include "base/result.h"
#include "init/copy/copy_record.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/options.h"

namespace copy {

// Makes `tree` a copy of the source. Keeps what an earlier run has copied from the same source.
// Deletes an unfinished copy of a different source. Fails as run_copy_job() does.
base::Result<Scan> fill(const Source& source, const Destination& destination,
                        const Options& options, const SharedCounters& counters);

// Returns the path of the source of the unfinished copy; "" if there is none.
std::string source_of_filling(const Destination& destination);

// Turns a published copy of `source` into an unfinished one, so that fill() compares and repairs
// it. Deletes its record and any other unfinished copy.
base::Status reopen(const Source& source, const Destination& destination);

// Moves the unfinished copy of `from`, if there is one, to `destination`, which must have none.
// Does nothing if the two are on different file systems.
base::Status take_over(const Destination& from, const Destination& destination);

// Returns the record of a copy that fill() has finished.
CopyRecord record_for(const Source& source, const Destination& destination, const Options& options,
                      const Scan& scan);

}  // namespace copy
