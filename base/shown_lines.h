#pragma once
// Lines for people, made of texts that may be anybody's. No text can end its line, begin another
// one or repaint it, and credentials are masked. A command's answer is made of these lines: print()
// of init/cli takes nothing else.

#include <initializer_list>
#include <string>
#include <string_view>

namespace envgen {

class ShownLines {
 public:
  // Adds one line, which consists of `parts`.
  void add(std::initializer_list<std::string_view> parts);
  void add(const ShownLines& lines) { text_ += lines.text_; }

  // Returns all lines, each with its end.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace envgen
