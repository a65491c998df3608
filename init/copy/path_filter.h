#pragma once
// The filter of a copy: which entries of a tree are copied (--include, --exclude).
//
// A pattern: * any characters but /, ? one of them, [a-z] [!a-z] one of a set, ** any with /, **/
// any directories or none. A pattern with a / before its end is matched against the path below the
// tree's root, any other one against each name. A trailing / matches directories only. An excluded
// directory is not entered.
// --include: a file must match one of these patterns, or lie in a directory that does.
// Directories are copied in any case. Exclusion wins.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace copy {

class PathFilter {
 public:
  PathFilter() = default;  // takes all
  // Errors: an empty pattern, a [ that is not closed, a pattern longer than 4,096 bytes.
  static base::Result<PathFilter> make(const std::vector<std::string>& include,
                                       const std::vector<std::string>& exclude);

  [[nodiscard]] bool takes_all() const { return include_.empty() && exclude_.empty(); }
  // `path`: below the root, without a leading or trailing /; its directories have been entered.
  [[nodiscard]] bool takes_file(std::string_view path) const;
  [[nodiscard]] bool enters(std::string_view directory) const;
  // Returns a text that is equal for equal filters: part of a cache's key.
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
