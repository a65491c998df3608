#pragma once
// The filter of a copy: which entries of a tree are copied (--include, --exclude).
//
// A pattern can contain * (any characters but /), ? (one such character), [a-z] and [!a-z] (one of
// a set), ** (any characters, also /), **/ (any directories or none). A pattern with a / before its
// end is matched against the path below the root of the tree, any other pattern against each name.
// A pattern that ends with / matches only directories. An excluded directory is not entered.
// --include: a file must match one of these patterns, or lie in a directory that does. Directories
// are copied in any case. If both options match, the entry is excluded.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace copy {

class PathFilter {
 public:
  PathFilter() = default;  // accepts all entries
  // Makes a filter. Fails for an empty pattern, a [ that is not closed, and a pattern longer than
  // 4,096 bytes.
  static base::Result<PathFilter> make(const std::vector<std::string>& include,
                                       const std::vector<std::string>& exclude);

  [[nodiscard]] bool takes_all() const { return include_.empty() && exclude_.empty(); }
  // Returns whether the file is copied. `path` is below the root, without a leading or trailing /.
  // Its directories must have been accepted before.
  [[nodiscard]] bool takes_file(std::string_view path) const;
  [[nodiscard]] bool enters(std::string_view directory) const;
  // Returns a text that equal filters have in common. It is a part of the cache's key.
  [[nodiscard]] std::string text() const;

 private:
  struct Pattern {
    std::string text;
    bool whole_path = false;
    bool directories_only = false;
  };
  static base::Result<std::vector<Pattern>> patterns_of(std::string_view option,
                                                        const std::vector<std::string>& texts);
  static bool matches(const std::vector<Pattern>& patterns, std::string_view path, bool directory);
  [[nodiscard]] bool lies_in_included(std::string_view path) const;

  std::vector<Pattern> include_;
  std::vector<Pattern> exclude_;
};

}  // namespace copy
