#pragma once
// The journal of the last publication at a destination, for the run after a kill: one line in the
// file `journal` of the state directory, "publishing" or "published" and numbers.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/copy/publish/destination.h"

namespace copy {

struct PublicationJournal {
  bool torn = false;  // incomplete after a crash of the machine: nothing is known
  bool publishing = false;
  std::uint64_t tree = 0;  // the inode of the published tree; 0 = nothing was published yet
  std::uint64_t old = 0;   // the inode of the replaced content
  std::uint64_t mode = 0;  // mode of the tree's root
};

// Reads the journal; the default value if there is none.
PublicationJournal read_journal(const Destination& destination);
base::Status write_journal(const Destination& destination, const PublicationJournal& journal);

// Writes a file of the state directory, by rename. `durable`: after an fsync of its contents.
base::Status write_state(const std::string& path, std::string_view text, bool durable);

// Fails if a path of these files is not a regular file. Call it before a copy begins.
base::Status check_state_files(const Destination& destination);

// Makes the error of a publication at `where`, with the advice for this errno.
base::Status cannot_publish(const std::string& where, int error);
// Makes the error of a file of the state directory.
std::unexpected<base::Error> fail_on(const std::string& path, int error);

}  // namespace copy
