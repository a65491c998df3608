#pragma once
// The journal of the last publication at a destination, for whoever comes after a kill: one line,
// "publishing" or "published" and numbers, in the file `journal` of the state directory.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/copy/publish/destination.h"

namespace copy {

struct PublicationJournal {
  bool torn = false;  // the machine crashed: nothing is known
  bool publishing = false;
  std::uint64_t tree = 0;  // its inode; 0 = nothing was published yet
  std::uint64_t old = 0;   // of what is replaced
  std::uint64_t mode = 0;  // of the tree's root
};

// One that is torn, after the machine crashed, says nothing.
PublicationJournal read_journal(const Destination& destination);
envgen::Status write_journal(const Destination& destination, const PublicationJournal& journal);

// A file of the state directory, by rename; `durable`: its contents are on the disk before.
envgen::Status write_state(const std::string& path, std::string_view text, bool durable);

// No directory stands where one of these files is to be: said before hours of copying.
envgen::Status check_state_files(const Destination& destination);

// What an errno of bringing a copy to its destination means for whoever reads it.
envgen::Status cannot_publish(const std::string& where, int error);
// The same of a file that is kept beside it.
std::unexpected<envgen::Error> fail_on(const std::string& path, int error);

}  // namespace copy
