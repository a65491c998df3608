#pragma once
// Secrets that a command takes without a name: `wandb login KEY`, `curl -u`, `sshpass -p`, `mysql
// -pKEY`, `obsutil -i= -k=`, `aws configure set NAME VALUE`, `setenv NAME VALUE`. The class
// Operands reads a command word by word.

#include <array>
#include <string>
#include <string_view>

#include "base/secrets/secret_text.h"

namespace base {

class Operands {
 public:
  // Creates a reader. With `sentence` the text may be a sentence ("login with a password"), so
  // fewer words are read as parts of a command.
  explicit Operands(bool sentence) : sentence_(sentence) {}

  // Returns the span of the value that follows the word at [begin, end), or that of the word itself
  // if it is a value. Returns an empty span otherwise. Call it for each word in order.
  Span value_of(std::string_view text, std::size_t begin, std::size_t end);
  // Tracks the end of a command: to be called with each character between two words.
  void pass(std::string_view text, std::size_t at);
  // Returns true if `argument`, the whole next argument of a command, is the value of the option
  // that was read last.
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
  Wanted wanted_ = Wanted::kNothing;  // the kind of value that the next argument can be
  std::array<std::string, 2> last_;   // the last two words that were read
};

}  // namespace base
