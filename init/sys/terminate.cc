#include "init/sys/terminate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "base/exit_codes.h"
#include "init/sys/files.h"

namespace sys {
namespace {

struct Handler {
  pid_t owner = 0;
  std::function<void(const Thrown&)> act;
  bool set = false;
  // Memory that terminate() releases before it calls `act`, so that `act` has memory when none is
  // left.
  void* reserve = nullptr;
};

constexpr std::size_t kReserve = 64UL << 10U;

// Maps the reserve. A mapping that is never touched uses address space, but no memory.
void* map_reserve() {
  void* mapped =
      ::mmap(nullptr, kReserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

Handler& handler() {
  static Handler set;
  return set;
}

}  // namespace

void on_terminate(std::function<void(const Thrown&)> act) {
  if (!std::exchange(handler().set, true)) handler().reserve = map_reserve();
  handler().owner = ::getpid();
  handler().act = std::move(act);
  std::set_terminate(terminate);
}

void terminate() {
  // The text stays valid, because the exception is never destroyed.
  const Thrown thrown = current_thrown();
  if (void* reserve = std::exchange(handler().reserve, nullptr)) ::munmap(reserve, kReserve);
  if (handler().act && handler().owner == ::getpid()) {
    const auto act = std::exchange(handler().act, nullptr);
    act(thrown);
  } else {
    for (const char* part : {"trainit: internal error: ", thrown.what, "\n"}) {
      write_all(STDERR_FILENO, part);
    }
  }
  ::_exit(exit_code::kOwnFailure);
}

}  // namespace sys
