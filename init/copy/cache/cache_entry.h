#pragma once
// An entry of a node's cache: its paths, its lock, its record. See cache.h for what lies where.
//
// Who may do what: an entry lies in the cache of the user that made it (user_cache.h), which nobody
// else may write. Its lock is for that user alone while the copy is made, and can be shared by
// whoever may read that cache once it is there; nobody but that user can hold it exclusively. A
// copy can be read by those whom the modes in the copy itself let, whatever stood above its source.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/copy_record.h"
#include "init/sys/fd.h"

namespace copy {

struct CacheEntry {
  std::string cache;  // <root>/trainit-datasets, see user_cache.h
  std::string key;

  [[nodiscard]] std::string published() const { return cache + "/" + key; }
  [[nodiscard]] std::string partial() const { return published() + ".partial"; }
  [[nodiscard]] std::string lock() const { return published() + ".lock"; }
  [[nodiscard]] std::string data() const { return published() + "/data"; }
  [[nodiscard]] std::string record() const { return published() + "/record.json"; }
  // The record of a copy that is gone: a link to that copy still leads to its source.
  [[nodiscard]] std::string was() const { return published() + ".was"; }
  [[nodiscard]] std::string manifest() const { return published() + "/manifest"; }
  [[nodiscard]] std::string partial_data() const { return partial() + "/data"; }
  [[nodiscard]] std::string state() const { return partial() + "/state"; }
  [[nodiscard]] std::string progress() const { return partial() + "/progress"; }
};

// "imagenet-0123456789abcdef"; of the name only what a file name may be made of. Another `variant`:
// another entry for the same.
// Which bytes a key has; others become "_".
bool may_stand_in_a_key(char c);
std::string key_of(const std::string& name, const envgen::CopyRecord& wanted, int variant = 0);

enum class Hold : unsigned char { kShared, kExclusive };

// The entry's lock, if it is to be had at once; else not valid. It is made where it is not there.
// Whoever removes an entry removes its lock: what comes back is the one that is there. An exclusive
// one takes that the file may be written, so that nobody else can keep us waiting by it.
envgen::Result<sys::Fd> try_lock(const CacheEntry& cache_entry, Hold hold);
// Somebody holds it, whoever may: for one that is not ours to lock.
bool is_held(const CacheEntry& cache_entry);
// This is its last use.
void touch(const sys::Fd& lock);

// Of a copy that is there, or was. "" = it cannot be told.
std::string source_of(const CacheEntry& cache_entry);
// What is published. nullopt: nothing, or what was being removed. An error: it cannot be read, or
// is not a record.
envgen::Result<std::optional<envgen::CopyRecord>> read_record(const CacheEntry& cache_entry);
// Takes the record away first: killed halfway, the rest is nobody's copy.
envgen::Status remove_published(const CacheEntry& cache_entry);
// What was published is an unfinished copy again.
envgen::Status unpublish(const CacheEntry& cache_entry);
// The other way; all of it, or nothing. `record` is written in between. The caller has filled
// partial_data() and state().
envgen::Status publish(const CacheEntry& cache_entry, const envgen::CopyRecord& record);
// All of the entry, and its lock, which the caller has.
envgen::Status remove_cache_entry(const CacheEntry& cache_entry);

// All file systems below have it, or an error; for a copy that a crash must not harm.
envgen::Status sync_file_system(const std::string& path);

}  // namespace copy
