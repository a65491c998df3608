#pragma once
// A file system as a value: what resolve() wants is looked up in it, as init/ would on a disk.

#include <map>
#include <string>
#include <vector>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace envgen {

class Tree {
 public:
  Tree& directory(const std::string& path);                       // and those above it
  Tree& file(const std::string& path, std::string content = "");  // and the directories above it
  Tree& program(const std::string& path);                         // a file with a run bit
  Tree& null_link(const std::string& path);                       // to /dev/null
  [[nodiscard]] PathState look(const std::string& path, bool content) const;

 private:
  std::map<std::string, PathState> paths_;
};

// Asks and looks until nothing is wanted, which has to come to an end. `looked` gets the number of
// rounds.
Answer resolve_in(const Tree& tree, Snapshot snapshot, const Request& request,
                  int* rounds = nullptr);

}  // namespace envgen
