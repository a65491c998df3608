#pragma once
// A record of the progress that processes print, to decide whether they continued after a line.
// Progress is recognised by form alone, in any language. The lines of one shape recur with
// different numbers ("step 10 loss 2.1", "第12批 ..."), whatever their meaning.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

class WorkShapes {
 public:
  // Takes the next line of ordinary output, without its prefixes. `line` is its number, which must
  // increase. Returns true if a number in it is higher than in all earlier lines of its shape.
  bool take(std::string_view stream, std::string_view text, std::size_t line);

  // Returns true if any process printed progress after line `from` and before line `to`.
  [[nodiscard]] bool went_on(std::size_t from, std::size_t to) const;
  // Returns true if the process `stream` printed progress in this range. A shape that first occurs
  // after `from` needs more lines, because lines at the exit can look alike ("worker 1 closed",
  // "worker 2 closed").
  [[nodiscard]] bool resumed(std::string_view stream, std::size_t from, std::size_t to) const;

 private:
  struct Shape {
    std::string stream;
    std::size_t first = 0;          // line number
    std::vector<double> last, top;  // latest and highest numbers of the shape
    // Lines with a number above all earlier ones; lines with a number that differs from the
    // previous line.
    std::vector<std::size_t> advances, changes;
  };
  std::map<std::string, Shape, std::less<>> shapes_;
};

}  // namespace envgen
