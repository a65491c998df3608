#pragma once
// An entry of a node's cache: a directory with the destination `data` (init/copy/publish), and a
// lock beside it. See cache.h for the layout.
//
// Rights: an entry lies in the cache of the user that made it (user_cache.h), which no other user
// can write. While the copy is made, only that user can take the lock. Once the copy is published,
// every user that can read the cache can share the lock; only the owner can hold it exclusively.
// The modes in the copy itself decide who can read it, whatever the modes above its source.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/copy_record.h"
#include "init/copy/publish/destination.h"
#include "init/sys/fd.h"

namespace copy {

struct CacheEntry {
  std::string cache;  // <root>/trainit-datasets, see user_cache.h
  std::string key;

  [[nodiscard]] std::string directory() const { return cache + "/" + key; }
  [[nodiscard]] std::string lock() const { return directory() + ".lock"; }
  // Returns the path of the record of a deleted copy, by which a link to that copy still leads to
  // the source.
  [[nodiscard]] std::string was() const { return directory() + ".was"; }
  [[nodiscard]] std::string data() const { return directory() + "/data"; }
  [[nodiscard]] Destination destination() const;
  [[nodiscard]] std::string record() const;
  [[nodiscard]] std::string old_record()
      const;  // the record of a copy made by version 0.1.0, which has another layout
  [[nodiscard]] std::string manifest() const;
  [[nodiscard]] std::string progress() const;
};

// Returns whether a key can contain this byte. Other bytes of a dataset's name become "_".
bool may_stand_in_a_key(char c);
// Returns "<name>-<16 hexadecimal digits>". Each `variant` of a dataset has a different key.
std::string key_of(const std::string& name, const CopyRecord& wanted, int variant = 0);

enum class LockMode : unsigned char { kShared, kExclusive };

// Takes the lock of the entry, and creates its file if needed. Never blocks: returns an invalid
// descriptor if another process holds the lock. An exclusive lock requires that this user can write
// the file, so that other users cannot block this one.
base::Result<sys::Fd> try_lock(const CacheEntry& cache_entry, LockMode mode);
// Returns whether any process holds the entry's lock, even one of another user.
bool is_locked(const CacheEntry& cache_entry);
// Sets the time of the last use to now.
void touch(const sys::Fd& lock);
// Sets whether other users can share the lock.
void let_share(const CacheEntry& cache_entry, bool shared);

// Returns the source of the entry's copy, also of a deleted copy; "" if the source is unknown.
std::string source_of(const CacheEntry& cache_entry);
// Returns the record of the published copy; nullopt if no copy is published. Fails if the record
// cannot be read or is malformed.
base::Result<std::optional<CopyRecord>> read_record(const CacheEntry& cache_entry);
// Returns the record of a published copy, made by this version or by 0.1.0. Returns nullopt if no
// record can be read.
std::optional<CopyRecord> read_any_record(const CacheEntry& cache_entry);

// This function and the ones below require the exclusive lock.
//
// Creates the directory of the entry and its state directory. If a state directory exists that
// trainit cannot have made, deletes it and the copy beside it.
base::Status make_directory(const CacheEntry& cache_entry);
// Completes a publication that a killed process has begun. If the entry is damaged, deletes it and
// returns a line for the log. Returns "" otherwise.
base::Result<std::string> settle_entry(const CacheEntry& cache_entry);
// Deletes the published copy. Its record is deleted first, so that after a kill the rest is not
// taken for a copy.
base::Status remove_published(const CacheEntry& cache_entry);
// Deletes the entry and its lock, and keeps the record as was().
base::Status remove_cache_entry(const CacheEntry& cache_entry);
// Deletes the entry and its lock if it has neither a published nor an unfinished copy.
void remove_if_empty(const CacheEntry& cache_entry);

// Writes the file system that contains `path` to its disk, so that a crash cannot harm a copy on
// it.
base::Status sync_file_system(const std::string& path);

}  // namespace copy
