#pragma once
// Lines for people, made of untrusted texts. A text cannot end its line, begin another line or
// repaint it, and credentials are masked. init/cli prints only such lines (print()).

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace base {

class ShownLines {
 public:
  // Adds one line: the `parts` joined.
  void add(std::initializer_list<std::string_view> parts);
  void add(const ShownLines& lines) { text_ += lines.text_; }

  // Returns all lines, each with its "\n".
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Returns a command as a user would type it in a shell, with its credentials masked. They are
// masked before quotes are added, because the mask could not recognize them in quotes.
std::string shown_command(const std::vector<std::string>& arguments);

}  // namespace base
