#pragma once
// Secrets that a command takes without a name: `wandb login KEY`, `curl -u`, `sshpass -p`,
// `mysql -p…`, `obsutil -i= -k=`, `aws configure set NAME VALUE`, `setenv NAME VALUE`. Reads a
// command word by word.

#include <array>
#include <string>
#include <string_view>

#include "base/secrets/secret_text.h"

namespace envgen {

class Operands {
 public:
  // In a sentence ("login with a password") less is taken for a command.
  explicit Operands(bool sentence) : sentence_(sentence) {}

  // Where the value of the word at [begin, end) stands, the word itself where that is one; an empty
  // span when it has none.
  Span value_of(std::string_view text, std::size_t begin, std::size_t end);
  // A character between two words.
  void pass(std::string_view text, std::size_t at);
  // The next argument, of which nothing is read yet, is the value of the last one's option.
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
  Wanted wanted_ = Wanted::kNothing;  // of the next argument
  std::array<std::string, 2> last_;   // the words before
};

}  // namespace envgen
