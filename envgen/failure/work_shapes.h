#pragma once
// A record of the work that processes print, which tells whether they went on after a line. Work is
// told by its form alone, in any language: lines of one shape that come again and again with other
// numbers in them ("step 10 loss 2.1", "第12批 ..."), whatever they mean.

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
  // Takes the next line of ordinary output, without its prefixes. `line`: its number; it only
  // grows. True: it goes on with what a line of its shape counted.
  bool take(std::string_view stream, std::string_view text, std::size_t line);

  // True: work was printed behind line `from` and before line `to`, by any process.
  [[nodiscard]] bool went_on(std::size_t from, std::size_t to) const;
  // True: the process `stream` did so. A few lines of a shape that begins behind `from` do not
  // suffice: they may be those of the end ("worker 1 closed", "worker 2 closed").
  [[nodiscard]] bool resumed(std::string_view stream, std::size_t from, std::size_t to) const;

 private:
  struct Shape {
    std::string stream;
    std::size_t first = 0;          // line
    std::vector<double> last, top;  // its numbers
    // Lines in which a number was larger than all before, or another one than in the line before.
    std::vector<std::size_t> advances, changes;
  };
  std::map<std::string, Shape, std::less<>> shapes_;
};

}  // namespace envgen
