#pragma once
// The memory that only the start of a process needed.

namespace sys {

// Gives back what the start has touched and waiting does not need: free heap, stack below the
// caller, and the mapped pages of our own program file (they stay in the page cache, and come again
// as they are used). For a process that lives for weeks; it costs a few calls.
void release_start_memory();

}  // namespace sys
