#pragma once
// Recognises the line that ends a Python traceback: "ValueError: no such shard".

#include <string_view>

namespace envgen {

// Returns the exception's name in `line`, which follows the code of a traceback:
// "torch.cuda.OutOfMemoryError". Returns "" if the line cannot end a traceback.
std::string_view exception_name(std::string_view line);

// Returns true for a line, at any place in the output, that begins with a typical exception name:
// "queue.Empty", "requests.exceptions.ReadTimeout: ...".
bool is_exception(std::string_view line);

// Returns true for the name of an exception that the outside world can cause (a library, the
// operating system), so a new start may succeed. Errors of the script itself, such as KeyError and
// TypeError, will occur again.
bool is_foreign_exception(std::string_view name);

// Returns true for the name of an exception that code often raises only to catch it and raise
// another one. The second exception is more precise.
bool is_stepping_stone(std::string_view name);

}  // namespace envgen
