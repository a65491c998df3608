#pragma once
// The record beside a published copy, record.json: the source of the copy, and whether a crash of
// the machine can have harmed it. A publication writes the record last, by a rename.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace copy {

struct CopyRecord {
  std::string source;  // absolute, links resolved
  std::string digest;  // digest of the source's entries, 32 hexadecimal digits; "" if a version was
                       // given
  std::string version;        // value of --data-version; "" = not given
  std::string options;        // text of the options that change the copy's content: filters, owner
  std::string path;           // the copy's path
  std::uint64_t entries = 0;  // files, directories, links
  std::uint64_t bytes = 0;    // sum of the files' sizes
  std::uint64_t allocated = 0;   // size on the disk
  std::int64_t finished_ms = 0;  // wall clock, UTC
  std::string boot_id;           // boot id of the machine when the copy was published (sys/boot.h)
  bool synced = false;           // the copy is on the disk: a crash of the machine cannot harm it
  bool hashed = false;           // the manifest contains hashes of the contents

  bool operator==(const CopyRecord&) const = default;
};

std::string record_to_json(const CopyRecord& record);
// Parses a record. `where` names the file in errors.
base::Result<CopyRecord> parse_record(std::string_view text, std::string_view where);

// Returns true if the copy can be used without a check of its contents: it was written to the disk,
// or the machine has not booted since.
bool can_be_trusted(const CopyRecord& record, std::string_view boot_id);

}  // namespace copy
