#include "envgen/plan/shell_text.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"

namespace envgen {
namespace {

// Replaces `$(which torchrun)` by the program's name.
std::string with_lookups_done(std::string_view text) {
  constexpr std::array<std::string_view, 4> kLookups = {"$(which ", "$(command -v ", "`which ",
                                                        "`command -v "};
  std::string done;
  while (!text.empty()) {
    const auto* lookup = std::ranges::find_if(
        kLookups, [text](std::string_view some) { return text.starts_with(some); });
    const std::size_t end = lookup == kLookups.end() ? std::string_view::npos
                                                     : text.find(text[0] == '$' ? ')' : '`', 1);
    if (end == std::string_view::npos) {
      done += text[0];
      text.remove_prefix(1);
      continue;
    }
    done += text.substr(lookup->size(), end - lookup->size());
    text.remove_prefix(end + 1);
  }
  return done;
}

class ShellText {
 public:
  explicit ShellText(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> commands() && {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

  // Returns the next simple command. An empty result is the end of the text, or an empty command.
  std::vector<std::string> next() {
    commands_.clear();
    while (at_ < text_.size() && commands_.empty()) step();
    if (commands_.empty()) end_command();
    return commands_.empty() ? std::vector<std::string>() : std::move(commands_[0]);
  }
  [[nodiscard]] std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }

 private:
  void step() {
    const char c = text_[at_++];
    switch (c) {
      case '\\':
        if (at_ < text_.size() && text_[at_] != '\n') add(text_[at_]);
        ++at_;
        break;
      case '\'':
      case '"':
        quoted(c);
        break;
      case '\n':
      case ';':
      case '|':
      case '(':
      case ')':
        end_command();
        break;
      case '&':
        // The sign of a redirection: "2>&1", "&>log"
        if (redirected_ || (at_ < text_.size() && text_[at_] == '>')) break;
        end_command();
        break;
      case '<':
      case '>':
        // A number directly before the sign is a descriptor and no word.
        if (word_.find_first_not_of("0123456789") == std::string::npos) drop_word();
        end_word();
        redirected_ = true;
        break;
      case '#':
        if (!in_word_) at_ = std::min(text_.find('\n', at_), text_.size());
        if (in_word_) add(c);
        break;
      case ' ':
      case '\t':
      case '\r':
        end_word();
        break;
      default:
        add(c);
    }
  }

  void quoted(char quote) {
    in_word_ = true;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word_ += text_[at_];
    }
    ++at_;
  }

  void add(char c) {
    in_word_ = true;
    word_ += c;
  }
  void drop_word() {
    in_word_ = false;
    word_.clear();
  }
  void end_word() {
    if (in_word_ && !redirected_) words_.push_back(word_);
    if (in_word_) redirected_ = false;
    drop_word();
  }
  void end_command() {
    end_word();
    redirected_ = false;
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  bool redirected_ = false;  // the next word is the file of a redirection
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
};

}  // namespace

bool is_shell(std::string_view word) {
  static constexpr auto kShells = base::words("sh", "bash", "dash", "ash", "zsh", "ksh");
  return std::ranges::find(kShells, word.substr(word.rfind('/') + 1)) != kShells.end();
}

ShellOperand operand_of_shell(std::span<const std::string> command) {
  bool text = false;
  bool profile = false;
  std::size_t at = 1;
  for (; at < command.size(); ++at) {
    const std::string& option = command[at];
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) break;
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "--rcfile" || option == "--init-file") ++at;
    profile = profile || option == "--login";
    if (option.starts_with("--")) continue;
    text = text || option.contains('c');
    profile = profile || option.find_first_of("li") != std::string::npos;
    if (option.ends_with('o') || option.ends_with('O')) ++at;
  }
  if (at >= command.size()) return {};
  if (text) return {command[at], "", profile};
  return {"", command[at], profile};
}

std::vector<std::vector<std::string>> simple_commands(std::string_view text) {
  const std::string done = with_lookups_done(text);
  return ShellText(done).commands();
}

std::optional<CondaActivation> conda_activation(std::string_view text) {
  static constexpr auto kPrograms = base::words("conda", "mamba", "micromamba");
  static constexpr auto kDefining = base::words(".", "source", "eval");
  constexpr std::string_view kBetween = " \t\r\n;&|";
  ShellText reader(text);
  while (true) {
    std::string_view here = reader.rest();
    here.remove_prefix(std::min(here.find_first_not_of(kBetween), here.size()));
    const std::vector<std::string> command = reader.next();
    if (command.empty()) return std::nullopt;
    const std::string_view name = command[0];
    if (std::ranges::find(kDefining, name) != kDefining.end()) return std::nullopt;
    const bool conda =
        std::ranges::find(kPrograms, name.substr(name.rfind('/') + 1)) != kPrograms.end();
    if (!conda || command.size() < 2 || command[1] != "activate") continue;
    CondaActivation result{command.size() > 2 ? command.back() : "base", std::string(text)};
    std::string_view rest = reader.rest();
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    result.rest.replace(text.size() - here.size(), here.size(), rest);
    return result;
  }
}

}  // namespace envgen
