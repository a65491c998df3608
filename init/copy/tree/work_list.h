#pragma once
// The work list: the remaining work of a copy, which its processes share. It is a stack of items in
// an unnamed file, so that no tree is too large for memory. The last item that was added is taken
// first, so the length of the list grows with the depth of the tree and not with its width.

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
  kRoot,       // the root of the tree
  kDirectory,  // all entries of a directory
  kNames,      // some entries of a directory
  kRange,      // bytes of a large file
};

struct Item {
  ItemKind kind = ItemKind::kRoot;
  bool fresh = false;       // this run has created the copy's directory, which is empty
  bool in_linked = false;   // as Worker::in_linked
  std::uint64_t first = 0;  // kRange: parts [first, last)
  std::uint64_t last = 0;
  std::uint64_t source = 0;  // for kRange: the state of the file, see state_of() in journal.h
  std::string_view path;     // path below the root; "" is the root
  std::string_view
      names;  // kNames: each name begins with its type (DT_...) in a byte, and ends with a NUL
};

// The state of the list in shared memory. If a process is killed, it may hold the lock, so the
// other processes are then killed too.
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
  // Makes a list in a file in `directory` (in memory if that is ""), and initializes `state`. This
  // process shares both with all processes that it forks afterwards.
  static base::Result<WorkList> create(const std::string& directory, WorkState* state);

  base::Status push(const Item& item);
  // Returns the next item for the process `number`. Blocks until that process may work and an item
  // exists. Returns nullopt if no work is left. By this call the caller also says that its previous
  // item is finished. The views in the item are valid until the next call.
  base::Result<std::optional<Item>> take(int number);
  // Returns whether some process waits for work, so that the others should divide theirs.
  [[nodiscard]] bool hungry() const;

 private:
  WorkList(sys::Fd file, WorkState* state) : file_(std::move(file)), state_(state) {}
  // Ends the list if no process works and no item is left. Returns whether it has ended.
  bool end();
  base::Result<std::optional<Item>> pop();

  sys::Fd file_;
  WorkState* state_;
  bool working_ = false;
  std::string record_;
};

}  // namespace copy
