#include "envgen/show/paragraph.h"

#include "base/characters/utf8.h"
#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr std::string_view kCut = "...";

// Returns true for the scripts whose characters take two columns: CJK, Hangul, full-width forms,
// and the characters outside the first plane.
bool is_wide(std::uint32_t code) {
  return (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xd7a4) ||
         (code >= 0xf900 && code < 0xfb00) || (code >= 0xff00 && code < 0xff61) || code >= 0x1f300;
}

// Returns the bytes of the first character of `text` and adds its columns to `columns`.
std::size_t take_character(std::string_view text, std::size_t& columns) {
  const std::size_t size = base::utf8_length(text);
  columns += size > 1 && is_wide(base::utf8_code(text, size)) ? 2 : 1;
  return size == 0 ? 1 : size;
}

// Returns the bytes of the longest beginning of `text` that has at most `columns` columns.
std::size_t fitting(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size();) {
    const std::size_t size = take_character(text.substr(at), used);
    if (used > columns) break;
    at += size;
  }
  return at;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) at += take_character(text.substr(at), columns);
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  const std::size_t whole = columns_of(text);
  if (whole <= columns || columns <= kCut.size()) return std::string(text);
  const std::size_t left = columns - kCut.size();
  const std::size_t begin = fitting(text, left / 2);
  // The end of a path or a value says more than its middle.
  std::size_t end = begin;
  for (std::size_t used = columns_of(text.substr(0, begin)); whole - used > left - left / 2;) {
    end += take_character(text.substr(end), used);
  }
  return base::concat({text.substr(0, begin), kCut, text.substr(end)});
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  return base::concat({text.substr(0, fitting(text, columns - kCut.size())), kCut});
}

void add_paragraph(base::ShownLines& lines, std::string_view head, std::string_view text,
                   LongWord long_word) {
  const std::size_t indent = columns_of(head);
  const std::size_t room = kColumns - indent;
  const std::string shown = base::escaped_text(base::mask_secrets(text));
  std::string line(head);
  std::size_t used = 0;
  bool empty = true;
  for (const std::string_view part : base::split(shown, ' ')) {
    const std::string word =
        long_word == LongWord::kKeep ? std::string(part) : shortened(part, room);
    const std::size_t width = columns_of(word);
    if (!empty && used + 1 + width > room) {
      lines.add({line});
      line.assign(indent, ' ');
      used = 0;
      empty = true;
    }
    if (!empty) line += ' ';
    used += width + (empty ? 0 : 1);
    line += word;
    empty = false;
  }
  lines.add({line});
}

}  // namespace envgen
