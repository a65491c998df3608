#pragma once
// Trees of all kinds of entries, and what two of them differ in.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trees {

// Makes a directory with files of some sizes, names of any bytes, links of both kinds, holes, empty
// and deep directories, odd permissions and times. Another `seed`: the same names with other
// contents, and, as a build that fixes all times leaves it, of the same sizes and times.
void make(const std::string& root, std::uint64_t seed, int files);

// What each path is: type, permissions, size, mtime, target, contents, and which of them are one
// file. Paths are below the root; "" is the root.
using Entries = std::map<std::string, std::string>;
Entries entries_of(const std::string& root, bool owners = true);

// The first few paths in which two differ; empty for the same.
std::vector<std::string> differences(const Entries& left, const Entries& right);

// A quick look that does not read contents: paths, types, sizes, and the contents of "version" in
// the root, which make() gives its seed. "" when something went away while it looked.
std::string glance(int directory);

}  // namespace trees
