#pragma once
// Paths as conda reads them.

#include <string>
#include <string_view>

namespace envgen::conda {

// os.path.normpath, through which conda passes every element of PATH: no doubled or final '/', no
// "." and no "..". An empty path is ".".
std::string normal_path(std::string_view path);
std::string_view parent_path(std::string_view path);  // "/" of "/x", "" of "x"

}  // namespace envgen::conda
