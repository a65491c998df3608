#pragma once
// The work that is still to be done, shared by the processes of one copy: a stack of items in a
// file without a name, so that no tree is too large for memory. Last in, first out: it stays as
// short as the tree is deep, and not as long as it is wide.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/copy/tree/gate.h"
#include "init/sys/fd.h"

namespace copy {

enum class ItemKind : std::uint32_t {
  kRoot,       // the source itself, of which nothing is known
  kDirectory,  // all of it
  kNames,      // some entries of one
  kRange,      // bytes of a large file
};

struct Item {
  ItemKind kind = ItemKind::kRoot;
  bool fresh = false;       // the copy's directory was made by this run: there is nothing in it
  std::uint64_t first = 0;  // of kRange: parts [first, last)
  std::uint64_t last = 0;
  std::uint64_t source = 0;  // of kRange: which state of the file, see journal.h
  std::string_view path;     // below the root; "" is the root
  std::string_view names;    // of kNames: each its type (DT_...) in a byte, and ended by a NUL
};

// In memory that the processes share. Whoever is killed may hold the lock: the others are killed.
struct WorkState {
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  std::uint64_t top;  // bytes of the file that are in use
  std::atomic<std::uint32_t> busy;
  std::atomic<std::uint32_t> items;
  std::atomic<std::uint32_t> waiting;
  Gate gate;
};

class WorkList {
 public:
  // In `directory`, "" = in memory. `state` is initialized; it and the file are shared with the
  // processes forked from here on.
  static envgen::Result<WorkList> create(const std::string& directory, WorkState* state);

  envgen::Status push(const Item& item);
  // For the process `number`. Waits until that may work and there is something, or nothing any
  // more: nullopt. Whoever takes again has done what it took before. The item's views live until
  // the next call.
  envgen::Result<std::optional<Item>> take(int number);
  // Somebody has nothing to do: what can be divided should be.
  [[nodiscard]] bool hungry() const;

 private:
  WorkList(sys::Fd file, WorkState* state) : file_(std::move(file)), state_(state) {}
  // Nobody has anything to do any more, and there is nothing: all are to end.
  bool end();
  envgen::Result<std::optional<Item>> pop();

  sys::Fd file_;
  WorkState* state_;
  bool working_ = false;
  std::string record_;
};

}  // namespace copy
