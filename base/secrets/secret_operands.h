#pragma once
// Secrets that a command takes without a name: `wandb login KEY`, `curl -u`, `sshpass -p`, `mysql
// -p…`, `obsutil -i= -k=`, `aws configure set NAME VALUE`, `setenv NAME VALUE`. The class reads a
// command word by word.

#include <array>
#include <string>
#include <string_view>

#include "base/secrets/secret_text.h"

namespace base {

class Operands {
 public:
  // `sentence` says that the text may be a sentence ("login with a password"), where fewer words
  // are read as a command.
  explicit Operands(bool sentence) : sentence_(sentence) {}

  // Returns the span of the value that the word at [begin, end) announces, or of the word if it is
  // a value. Returns an empty span if the word has no value.
  Span value_of(std::string_view text, std::size_t begin, std::size_t end);
  // Records a character between two words.
  void pass(std::string_view text, std::size_t at);
  // Returns true if the next argument, which has not been read yet, is the value of the last
  // argument's option.
  bool takes(std::string_view argument);

 private:
  enum class Tool : unsigned char { kNone, kCurl, kSshpass, kMysql, kStorage, kRedis, kRegistry };
  enum class Wanted : unsigned char { kNothing, kAny, kCredentials };

  static Tool tool_of(std::string_view word);
  Span option_value(std::string_view text, std::size_t begin, std::size_t end);
  [[nodiscard]] bool sets(std::string_view word) const;
  Span next_value(std::string_view text, std::size_t end, Wanted wanted);
  [[nodiscard]] bool is_login_operand(std::string_view text, std::size_t begin,
                                      std::size_t end) const;

  bool sentence_;
  bool login_ = false;
  Tool tool_ = Tool::kNone;
  Wanted wanted_ = Wanted::kNothing;  // kinds of values that the next argument can be
  std::array<std::string, 2> last_;   // the two words before
};

}  // namespace base
