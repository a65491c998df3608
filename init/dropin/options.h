#pragma once
// A parser with the behaviour of glibc's getopt_long. Options must mean the same as in the three
// original programs, and errors must have the same text. Order, abbreviations and arguments are as
// in glibc. Flag pointers and optional arguments are not supported. Allocates only for an error
// text.

#include <span>
#include <string>
#include <string_view>

namespace dropin {

struct LongOption {
  std::string_view name;
  bool takes_argument;
  char letter;
};

struct Syntax {
  std::string_view letters;  // "hr:", with ':' after an option that takes an argument
  std::span<const LongOption> long_options;
  bool stop_at_operand;  // false: options after operands count too, up to "--"
};

class Options {
 public:
  static constexpr int kEnd = -1;
  static constexpr int kWrong = '?';

  // Reads the options in `argv`. Moves operands to its front; the elements are otherwise unchanged.
  Options(const Syntax& syntax, int argc, char** argv)
      : syntax_(syntax), argc_(argc), argv_(argv) {}

  // Returns the letter of the next option, kEnd, or kWrong. After kWrong, error() has the reason in
  // one line.
  int next();
  [[nodiscard]] char* argument() const { return argument_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Returns the operands, ended by a null. Requires that next() has returned kEnd.
  char** operands();

 private:
  int next_short();
  int next_long(std::string_view text);
  int wrong(const std::string& reason);
  [[nodiscard]] std::string possibilities(std::string_view name) const;

  Syntax syntax_;
  int argc_;
  char** argv_;
  int index_ = 1;
  int kept_ = 1;             // the operands are argv_[1 .. kept_)
  char* cluster_ = nullptr;  // the rest of several options in one word: "-abc"
  char* argument_ = nullptr;
  std::string error_;
};

}  // namespace dropin
