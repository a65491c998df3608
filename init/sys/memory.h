#pragma once
// The memory that only the start of a process needed.

namespace sys {

// Gives back what the start has touched and waiting does not need: free heap, and stack below the
// caller. Not the mapped pages of our own program file: they are the page cache's, and the end of
// the job would wait for them. For a process that lives for weeks; it costs two calls.
void release_start_memory();

}  // namespace sys
