#pragma once
// The remaining work of a copy, shared by its processes: a stack of items in an unnamed file, so
// that no tree is too large for memory. Last in, first out: its length grows with the tree's depth,
// not with its width.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "init/copy/tree/worker_limit.h"
#include "init/sys/fd.h"

namespace copy {

enum class ItemKind : std::uint32_t {
  kRoot,       // the source itself
  kDirectory,  // all entries of a directory
  kNames,      // some entries of a directory
  kRange,      // bytes of a large file
};

struct Item {
  ItemKind kind = ItemKind::kRoot;
  bool fresh = false;       // this run made the copy's directory, which is empty
  bool in_linked = false;   // see Worker
  std::uint64_t first = 0;  // kRange: parts [first, last)
  std::uint64_t last = 0;
  std::uint64_t source = 0;  // kRange: the file's state, see journal.h
  std::string_view path;     // path below the root; "" is the root
  std::string_view
      names;  // kNames: each name begins with its type (DT_...) in a byte, and ends with a NUL
};

// Lies in shared memory. A killed process may hold the lock: the others are killed then.
struct WorkState {
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  std::uint64_t top;  // bytes in use of the file
  std::atomic<std::uint32_t> busy;
  std::atomic<std::uint32_t> items;
  std::atomic<std::uint32_t> waiting;
  WorkerLimit worker_limit;
};

class WorkList {
 public:
  // Makes a list in `directory`, "" = in memory, and initializes `state`. The processes that this
  // one forks from now on share both.
  static base::Result<WorkList> create(const std::string& directory, WorkState* state);

  base::Status push(const Item& item);
  // Blocks until the process `number` may work and there is an item. nullopt: no work is left. A
  // call means that the caller has finished its previous item. The item's views are valid until the
  // next call.
  base::Result<std::optional<Item>> take(int number);
  // Returns whether a process waits for work, so that the others should divide theirs.
  [[nodiscard]] bool hungry() const;

 private:
  WorkList(sys::Fd file, WorkState* state) : file_(std::move(file)), state_(state) {}
  // Ends the list if no process works and no item is left.
  bool end();
  base::Result<std::optional<Item>> pop();

  sys::Fd file_;
  WorkState* state_;
  bool working_ = false;
  std::string record_;
};

}  // namespace copy
