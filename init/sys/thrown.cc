#include "init/sys/thrown.h"

#include <exception>
#include <new>

namespace sys {

// Only this file is compiled with exceptions, because only a catch clause can read the text.
Thrown current_thrown() {
  try {
    const std::exception_ptr thrown = std::current_exception();
    if (!thrown) return {"std::terminate was called"};
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc& error) {
    return {error.what(), true};
  } catch (const std::exception& error) {
    return {error.what()};
  } catch (...) {
    return {"an exception that has no text"};
  }
}

}  // namespace sys
