#pragma once
// Decides whether processes made progress after a line of their output, whatever language they
// print. Lines that differ only in their numbers have the same shape ("step 10 loss 2.1", "第12批
// ..."). Progress is when lines of one shape recur with rising or changing numbers.

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
  // Records the next line of ordinary output, without its prefixes. `line` is its number, which
  // must increase with each call. Returns true if a number in it is higher than in all earlier
  // lines of the same shape and stream.
  bool take(std::string_view stream, std::string_view text, std::size_t line);

  // Returns true if any process printed progress after line `from` and before line `to`.
  [[nodiscard]] bool went_on(std::size_t from, std::size_t to) const;
  // Returns true if the process `stream` printed progress between the lines `from` and `to`. A
  // shape that first occurs after `from` needs more lines, because lines at the exit can look alike
  // ("worker 1 closed", "worker 2 closed").
  [[nodiscard]] bool resumed(std::string_view stream, std::size_t from, std::size_t to) const;

 private:
  struct Shape {
    std::string stream;
    std::size_t first = 0;          // number of the first line of this shape
    std::vector<double> last, top;  // the numbers in the latest line, and the highest so far
    // Numbers of the lines with a number above all earlier ones, and of the lines whose numbers
    // differ from those of the previous line.
    std::vector<std::size_t> advances, changes;
  };
  std::map<std::string, Shape, std::less<>> shapes_;
};

}  // namespace envgen
