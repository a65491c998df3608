#pragma once
// Path functions with conda's rules.

#include <string>
#include <string_view>

namespace envgen::conda {

// Works as os.path.normpath, which conda applies to every element of PATH: removes a doubled or
// final '/' and ".", and resolves ".." (a leading one of a relative path stays). An empty path
// becomes ".".
std::string normal_path(std::string_view path);
std::string_view parent_path(std::string_view path);  // "/" for "/x", "" for "x"

}  // namespace envgen::conda
