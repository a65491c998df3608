#pragma once
// What a copy of many files cannot do without: for each file the eight calls open, fstat, open,
// read, write, futimens, close, close, for each directory what it takes, by several processes. No
// look whether there is room, whether somebody changed the source meanwhile, or who may read a file
// by its list (ACL); nothing that a run which was killed could be continued by.

#include <string>

namespace bench {

int copy_floor(const std::string& from, const std::string& to, int processes);

// What a look whether a tree of directories has changed cannot do without: the names in them, whose
// parts are each done by a process, and one fstatat a file. Nothing is compared with anything.
int look_floor(const std::string& tree, int processes);

}  // namespace bench
