#pragma once
// The journal of the last publication at a destination. After a kill, the next run learns from it
// what was done. It is one line in the file `journal` of the state directory: "publishing" or
// "published", and numbers.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/copy/publish/destination.h"

namespace copy {

struct PublicationJournal {
  bool torn = false;  // the line is incomplete after a crash of the machine, so the other fields
                      // mean nothing
  bool publishing = false;
  std::uint64_t tree = 0;  // inode of the published tree; 0 = nothing has been published yet
  std::uint64_t old = 0;   // inode of the content that was replaced
  std::uint64_t mode = 0;  // mode of the tree's root
};

// Returns the journal; a default value if the file does not exist.
PublicationJournal read_journal(const Destination& destination);
base::Status write_journal(const Destination& destination, const PublicationJournal& journal);

// Writes a file of the state directory and renames it to `path`. With `durable`, its contents are
// on the disk before the rename.
base::Status write_state(const std::string& path, std::string_view text, bool durable);

// Fails if one of these files exists and is not a regular file. Call it before a copy begins.
base::Status check_state_files(const Destination& destination);

// Makes the error of a publication at `where`, with the advice for this errno.
base::Status cannot_publish(const std::string& where, int error);
// Makes the error for a file of the state directory.
std::unexpected<base::Error> fail_on(const std::string& path, int error);

}  // namespace copy
