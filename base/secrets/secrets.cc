#include "base/secrets/secrets.h"

#include <algorithm>
#include <array>

#include "base/secrets/secret_notation.h"
#include "base/secrets/secret_operands.h"
#include "base/secrets/secret_reading.h"
#include "base/secrets/secret_sentence.h"
#include "base/secrets/secret_shapes.h"
#include "base/secrets/secret_text.h"

namespace base {
namespace {

// Masks in `source` the credentials that its `reading` contains.
std::string mask_words(std::string_view source, const Reading& reading, Text kind,
                       Operands& operands) {
  const std::string_view text = reading.at.empty() ? source : std::string_view(reading.text);
  const auto between = [&](std::size_t begin, std::size_t end) {
    if (reading.at.empty()) return source.substr(begin, end - begin);
    return source.substr(reading.at[begin], reading.at[end] - reading.at[begin]);
  };
  std::string result(source.substr(0, reading.at.empty() ? 0 : reading.at[0]));
  Notation notation(kind);
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_word(text[at])) {
      operands.pass(text, at);
      notation.pass(text[at]);
      result += between(at, at + 1);
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const Span operand = operands.value_of(text, at, end);
    const Span named = notation.value_of(text, at, end);
    const Span value = named.empty() || operand.end > named.end ? operand : named;
    if (!value.empty() && !is_stand_in(text, value)) {
      result.append(between(at, value.begin)).append(kMask);
      for (std::size_t passed = end; passed < value.begin; ++passed) notation.pass(text[passed]);
      end = value.end;
    } else {
      result += has_known_shape(text.substr(at, end - at)) ? kMask : between(at, end);
    }
    at = end;
  }
  return result;
}

std::string mask(std::string_view text, Text kind, Operands& operands) {
  if (text.contains("PRIVATE KEY-----") || text.contains("PRIVATE KEY BLOCK-----")) {
    return std::string(kMask);
  }
  // The text itself is masked before its readings, because in the text an escape within a value
  // does not end the value. Readings are made of parts, so that they fit into the CPU caches.
  constexpr std::size_t kPart = 16384;
  Operands of_reading = operands;
  const std::string masked = mask_words(mask_addresses(text), {}, kind, operands);
  std::string result;
  for (std::string_view rest = masked; !rest.empty();) {
    const std::size_t line_end = rest.size() <= kPart ? rest.npos : rest.find('\n', kPart);
    const std::string_view part = rest.substr(0, std::min(line_end, rest.size() - 1) + 1);
    const Reading reading = reading_of(part);
    result += reading.at.empty() ? std::string(part) : mask_words(part, reading, kind, of_reading);
    rest.remove_prefix(part.size());
  }
  return result;
}

// Masks "user:password@host:port", with any characters in the password.
std::string masked_proxy(std::string_view value) {
  const std::size_t at = value.rfind('@');
  if (at == std::string_view::npos) return std::string(value);
  const std::size_t scheme = value.find("://");
  const std::size_t begin = scheme < at ? scheme + 3 : 0;
  return std::string(value.substr(0, begin)).append(kMask).append(value.substr(at));
}

}  // namespace

std::string mask_secrets(std::string_view text) {
  Operands operands(true);
  return mask(text, Text::kSentence, operands);
}

std::string mask_printed(std::string_view text) {
  Operands operands(true);
  return mask(text, Text::kPrinted, operands);
}

std::string masked_value(std::string_view name, std::string_view value) {
  const Reading reading = reading_of(name);
  const NameKind kind = kind_of_name(reading.at.empty() ? name : std::string_view(reading.text));
  if (is_credential(kind, value)) return std::string(kMask);
  Operands operands(false);
  const bool proxy = canonical(name).ends_with("PROXY");
  return mask(proxy ? masked_proxy(value) : std::string(value), Text::kCommand, operands);
}

std::string masked_entry(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  Operands operands(false);
  if (equals == std::string_view::npos) return mask(entry, Text::kCommand, operands);
  const std::string_view name = entry.substr(0, equals);
  return std::string(name) + "=" + masked_value(name, entry.substr(equals + 1));
}

const std::string& EntryMask::of(const std::string& entry) {
  auto [known, is_new] = known_.try_emplace(entry);
  if (is_new) known->second = masked_entry(entry);
  return known->second;
}

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  masked.reserve(arguments.size());
  NameKind option_before = NameKind::kOrdinary;  // kind of the last option's name; this argument
                                                 // can be its value
  std::string_view word_before;  // the last argument if it was not an option: "api-key"
  bool script_follows = false;   // the last argument was `-c` of a shell
  Operands operands(false);
  for (const std::string& argument : arguments) {
    const bool option = argument.starts_with('-');
    const std::size_t equals = argument.find('=');
    const std::string_view name = std::string_view(argument).substr(0, equals);
    // The name is the text before '=': "HF_TOKEN=x", "--token=x", Hydra's "+hub.token=x". With a
    // blank in it, the argument is a script that contains an assignment.
    const bool is_name = name.find_first_of(kBlank) == std::string_view::npos;
    const NameKind kind =
        is_name && (option || !script_follows)
            ? kind_of_name(name.substr(std::min(name.find_first_not_of('+'), name.size())))
            : NameKind::kOrdinary;
    const Span value = {equals == std::string::npos ? 0 : equals + 1, argument.size()};
    const bool follows = !option && (is_credential(option_before, argument) ||
                                     is_value_behind(word_before, argument));
    if ((operands.takes(argument) || follows) && !is_stand_in(argument, {0, argument.size()})) {
      masked.emplace_back(kMask);
    } else if (equals != std::string::npos && !is_stand_in(argument, value) &&
               is_credential(kind, argument.substr(value.begin))) {
      masked.push_back(argument.substr(0, equals + 1) + std::string(kMask));
    } else {
      masked.push_back(mask(argument, Text::kCommand, operands));
    }
    option_before = option && equals == std::string::npos ? kind : NameKind::kOrdinary;
    word_before = option ? std::string_view() : std::string_view(argument);
    script_follows = option && !argument.starts_with("--") && argument.ends_with('c');
  }
  return masked;
}

}  // namespace base
