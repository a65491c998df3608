#pragma once
// The line that ends a Python traceback: "ValueError: no such shard".

#include <string_view>

namespace envgen {

// Name in `line`, which stands behind the code of a traceback: "torch.cuda.OutOfMemoryError"; ""
// for a line that cannot be the end of one.
std::string_view exception_name(std::string_view line);

// True for a line that may stand anywhere and has a name as exceptions have it: "queue.Empty",
// "requests.exceptions.ReadTimeout: ...".
bool is_exception(std::string_view line);

// True for the name of an exception that a library defines, or that the system raises. Of a
// script's own errors (KeyError, TypeError) alone it is certain that they come again.
bool is_foreign_exception(std::string_view name);

// True for the name of an exception that code raises to catch it. The exception that is raised in
// its place says more.
bool is_stepping_stone(std::string_view name);

}  // namespace envgen
