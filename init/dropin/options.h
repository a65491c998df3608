#pragma once
// glibc's getopt_long as a value. Options must have the same meaning as in the three original
// programs, and errors the same text. Allocates only for an error text. Order, abbreviations and
// arguments have no differences to glibc. Flag pointers and optional arguments are not supported.

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
  bool stop_at_operand;  // false: options after operands are recognized, too, up to "--"
};

class Options {
 public:
  static constexpr int kEnd = -1;
  static constexpr int kWrong = '?';

  // Moves operands to the front of `argv`. The elements do not change otherwise.
  Options(const Syntax& syntax, int argc, char** argv)
      : syntax_(syntax), argc_(argc), argv_(argv) {}

  // Returns the next option's letter, kEnd, or kWrong. After kWrong, error() has the reason in one
  // line.
  int next();
  [[nodiscard]] char* argument() const { return argument_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Returns the operands and a null. Requires that next() returned kEnd.
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
  int kept_ = 1;             // operands are in argv_[1 .. kept_)
  char* cluster_ = nullptr;  // the rest of "-abc"
  char* argument_ = nullptr;
  std::string error_;
};

}  // namespace dropin
