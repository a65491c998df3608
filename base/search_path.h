#pragma once
// PATH: where a program is searched for. Pure: sys::find_program() looks at the files,
// proc::Program executes them, and envgen::find_program() looks into a snapshot. The rules are
// those of execvp(3):
//
// - A name with a '/' is a path. PATH is then not used.
// - If PATH is unset, kDefaultPath is searched. A PATH that is set to "" has one element, "".
// - An empty element means the current directory.
// - The search passes over a file that is missing, is not regular, or may not be executed, and over
//   a directory that does not exist or may not be searched.
// - If no place has the program, the exit code is 127 (not found). If a file could not be executed,
//   or a directory could not be searched, the exit code is 126: the program may be there.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"

namespace base {

// Returns the search path of `env`.
std::string_view search_path_of(const Environ& env);

// Returns where sshd and ssh-keygen are searched for. Relative elements are left out: sshd executes
// itself again, and refuses a relative path. Distributions put sshd into directories that the PATH
// of images lacks.
std::string server_path_of(const Environ& env);

// Returns the files that `name` can mean, in order. "" has none.
std::vector<std::string> places_of_program(std::string_view search_path, std::string_view name);
// Returns those of them that have an absolute path. For programs that run with trainit's own
// rights: another user may be able to write the current directory.
std::vector<std::string> absolute_places_of_program(std::string_view search_path,
                                                    std::string_view name);

}  // namespace base
