#include "init/dropin/options.h"

#include <algorithm>

namespace dropin {

int Options::wrong(const std::string& reason) {
  error_ = std::string(argv_[0]) + ": " + reason + "\n";
  return kWrong;
}

int Options::next() {
  argument_ = nullptr;
  if (cluster_ != nullptr && *cluster_ != '\0') return next_short();
  while (index_ < argc_) {
    char* word = argv_[index_];
    const std::string_view text(word);
    if (text == "--") {
      ++index_;
      return kEnd;
    }
    if (text.size() < 2 || text[0] != '-') {
      if (syntax_.stop_at_operand) return kEnd;
      argv_[kept_++] = word;
      ++index_;
      continue;
    }
    ++index_;
    if (text.starts_with("--") && !syntax_.long_options.empty()) return next_long(text.substr(2));
    cluster_ = word + 1;
    return next_short();
  }
  return kEnd;
}

int Options::next_short() {
  const char letter = *cluster_++;
  const std::size_t place = syntax_.letters.find(letter);
  if (place == std::string_view::npos || letter == ':') {
    return wrong(std::string("invalid option -- '") + letter + "'");
  }
  if (!syntax_.letters.substr(place + 1).starts_with(':')) return letter;
  if (*cluster_ == '\0' && index_ >= argc_) {
    return wrong(std::string("option requires an argument -- '") + letter + "'");
  }
  argument_ = *cluster_ != '\0' ? cluster_ : argv_[index_++];
  cluster_ = nullptr;
  return letter;
}

std::string Options::possibilities(std::string_view name) const {
  std::string text;
  for (const LongOption& option : syntax_.long_options) {
    if (option.name.starts_with(name)) text += " '--" + std::string(option.name) + "'";
  }
  return text;
}

int Options::next_long(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto options = syntax_.long_options;
  auto option = std::ranges::find(options, name, &LongOption::name);
  if (option == options.end()) {
    auto abbreviated = [&](const LongOption& one) { return one.name.starts_with(name); };
    option = std::ranges::find_if(options, abbreviated);
    if (option == options.end()) {
      return wrong("unrecognized option '--" + std::string(text) + "'");
    }
    if (std::any_of(option + 1, options.end(), abbreviated)) {
      return wrong("option '--" + std::string(text) +
                   "' is ambiguous; possibilities:" + possibilities(name));
    }
  }
  auto refuse = [&](std::string_view why) {
    return wrong("option '--" + std::string(option->name) + "' " + std::string(why));
  };
  if (!option->takes_argument) {
    return equals == std::string_view::npos ? option->letter : refuse("doesn't allow an argument");
  }
  if (equals != std::string_view::npos) {
    // The text is the end of a word, so a NUL follows it.
    argument_ = const_cast<char*>(text.data()) + equals + 1;
  } else if (index_ < argc_) {
    argument_ = argv_[index_++];
  } else {
    return refuse("requires an argument");
  }
  return option->letter;
}

char** Options::operands() {
  while (index_ < argc_) argv_[kept_++] = argv_[index_++];
  argv_[kept_] = nullptr;
  return argv_ + 1;
}

}  // namespace dropin
