#pragma once
// getopt_long as glibc has it, as a value: its three users' options must mean what they mean there,
// and its complaints read the same. Allocates for a complaint only.
// Differences: none of order, abbreviation or argument; flag pointers and optional arguments are
// left out.

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
  std::string_view letters;  // "hr:": ':' after one that takes an argument
  std::span<const LongOption> long_options;
  bool stop_at_operand;  // else options are found behind operands too, up to "--"
};

class Options {
 public:
  static constexpr int kEnd = -1;
  static constexpr int kWrong = '?';

  // Operands are moved to the front of `argv`, which keeps its elements otherwise.
  Options(const Syntax& syntax, int argc, char** argv)
      : syntax_(syntax), argc_(argc), argv_(argv) {}

  // The next option's letter, or kEnd, or kWrong, after which error() has the reason in one line.
  int next();
  [[nodiscard]] char* argument() const { return argument_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // After kEnd: what is no option, and a null.
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
  int kept_ = 1;             // operands lie in argv_[1 .. kept_)
  char* cluster_ = nullptr;  // the rest of "-abc"
  char* argument_ = nullptr;
  std::string error_;
};

}  // namespace dropin
