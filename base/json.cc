#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/characters/utf8.h"
#include "base/text.h"

namespace base::json {
namespace {

constexpr std::string_view kWhat = "parsing JSON";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;  // counts characters, not bytes
};

Position position_of(std::string_view text, std::size_t offset) {
  Position position;
  std::size_t start = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (char c : text.substr(start, offset > start ? offset - start : 0)) {
    if (c == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++position.column;
    }
  }
  return position;
}

ParseError error_at(std::string_view text, std::string_view where, std::size_t offset,
                    std::string found, std::string fix) {
  Position position = position_of(text, std::min(offset, text.size()));
  return {.error = {.what = std::string(kWhat),
                    .where = std::string(where) + ": line " + std::to_string(position.line) +
                             ", column " + std::to_string(position.column),
                    .found = std::move(found),
                    .fix = std::move(fix)}};
}

ParseError ends_early(std::string_view text, std::string_view where, std::string found) {
  ParseError error =
      error_at(text, where, text.size(), std::move(found),
               "it may be half written: wait until it is complete, or write it again");
  error.incomplete = true;
  return error;
}

std::string quoted(char c) {
  auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7F) return c == '\'' ? "\"'\"" : std::string("'") + c + "'";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("the byte 0x") + kDigits[byte >> 4] + kDigits[byte & 0xF];
}

// Returns the index where the token begins that ends at `offset`: the parser reports only its end.
std::size_t token_start(std::string_view text, std::size_t offset) {
  auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
  };
  if (text[offset] == '"') {
    for (std::size_t at = offset; at-- > 0;) {
      if (text[at] != '"') continue;
      std::size_t slashes = 0;
      while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) return at;
    }
    return offset;
  }
  while (offset > 0 && is_word(text[offset]) && is_word(text[offset - 1])) --offset;
  return offset;
}

char significant_before(std::string_view text, std::size_t offset) {
  while (offset-- > 0) {
    if (!is_space(text[offset])) return text[offset];
  }
  return '\0';
}

// Returns what the parser expected, in words for the user.
std::string_view expected_text(std::string_view message) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTexts = {{
      {"; expected string literal", "a name in double quotes"},
      {"; expected ':'", "a ':'"},
      {"; expected '}'", "',' or '}'"},
      {"; expected ']'", "',' or ']'"},
      {"; expected end of input", "nothing more"},
      {"", "a value"},
  }};
  auto found = std::ranges::find_if(kTexts, [message](const auto& entry) {
    return message.find(entry.first) != std::string_view::npos;
  });
  return found->second;
}

// Makes the error for a fault of the parser. `offset` is the last byte that it read, `message` its
// error text.
ParseError explain(std::string_view text, std::string_view where, std::size_t offset,
                   std::string_view message) {
  auto says = [message](std::string_view part) {
    return message.find(part) != std::string_view::npos;
  };
  auto at = [&](std::size_t place, std::string found, std::string fix) {
    return error_at(text, where, place, std::move(found), std::move(fix));
  };
  char c = text[offset];
  if (says("number overflow")) {
    return at(token_start(text, offset), "a number that is too large", "write a smaller number");
  }
  if (says("UTF-8")) {
    return at(offset, quoted(c) + ", which is not UTF-8 here", "save the text as UTF-8");
  }
  if (says("invalid string")) {
    return at(offset, quoted(c) + " inside a string, where it may not stand",
              says("control character") ? "close the string before the end of the line"
                                        : "correct the escape sequence after the \\");
  }
  if (c == '/' || c == '#') {
    std::string sign = c == '#' ? "#" : std::string(text.substr(offset, 2));
    return at(offset, "a " + sign + " comment, which JSON does not have", "remove the comments");
  }
  if (c == '\'') return at(offset, "a single quote", "write names and strings in double quotes");
  if (static_cast<unsigned char>(c) >= 0x80) {
    return at(offset, quoted(c) + " outside a string",
              "write quotes, commas and blanks in ASCII, and save the text as UTF-8");
  }
  std::size_t start = token_start(text, offset);
  std::size_t digit = start + (text[start] == '-' ? 1 : 0);
  if (digit < offset && text[digit] == '0' && text[digit + 1] >= '0' && text[digit + 1] <= '9') {
    return at(start, "a number with a leading zero", "write it without the zero");
  }
  char before = significant_before(text, start);
  if ((c == ']' || c == '}') && before == ',') {
    return at(offset, "a comma with nothing between it and " + quoted(c), "remove that comma");
  }
  std::string token = c == '"' ? "a string" : quoted(text[start]);
  std::string expected(expected_text(message));
  bool separator = says("; expected '}'") || says("; expected ']'");
  return at(start, token + " where " + expected + " belongs",
            separator
                ? "a comma, a bracket or a brace is missing before it, or this is one too many"
                : "correct the text at this place");
}

}  // namespace

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "a boolean";
    case Type::kInteger:
      return "an integer";
    case Type::kFloat:
      return "a number";
    case Type::kString:
      return "a string";
    case Type::kArray:
      return "an array";
    case Type::kObject:
      return "an object";
  }
  return "a value";
}

// The receiver of the parser's events. The parser requires these function names.
class Builder {
 public:
  explicit Builder(Document& document) : nodes_(document.nodes_), text_(document.text_) {}

  bool null() { return leaf(Type::kNull, ""); }
  bool boolean(bool value) { return leaf(Type::kBool, value ? "true" : "false"); }
  // The parser calls this function only for literals that begin with '-', so a 0 was written "-0".
  bool number_integer(std::int64_t value) {
    return value == 0 ? leaf(Type::kInteger, "-0") : integer(value);
  }
  bool number_unsigned(std::uint64_t value) { return integer(value); }
  bool number_float(double /*value*/, const std::string& literal) {
    // The parser calls this function also for an integer that does not fit into 64 bits.
    bool integral = literal.find_first_of(".eE") == std::string::npos;
    return leaf(integral ? Type::kInteger : Type::kFloat, literal);
  }
  bool string(const std::string& value) { return leaf(Type::kString, value); }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Type::kObject); }
  bool start_array(std::size_t /*size*/) { return open(Type::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name) {
    key_at_ = static_cast<std::uint32_t>(text_.size());
    key_size_ = static_cast<std::uint32_t>(name.size());
    text_ += name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::json::exception& exception) {
    position_ = position;
    message_ = exception.what();
    return false;
  }

  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] std::size_t position() const { return position_; }  // bytes read, including the end
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  struct Open {
    std::uint32_t node;
    std::uint32_t last_child;  // 0 = no child yet
  };

  template <class Integer>
  bool integer(Integer value) {
    std::array<char, 24> digits{};
    auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return leaf(Type::kInteger, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  std::uint32_t append(Type type) {
    auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.type = type,
                      .key_at = key_at_,
                      .key_size = key_size_,
                      .text_at = static_cast<std::uint32_t>(text_.size()),
                      .text_size = 0,
                      .next = 0});
    key_size_ = 0;
    if (!open_.empty()) {
      Open& parent = open_.back();
      if (parent.last_child != 0) nodes_[parent.last_child].next = node;
      parent.last_child = node;
      ++nodes_[parent.node].text_size;
    }
    return node;
  }

  bool leaf(Type type, std::string_view text) {
    std::uint32_t node = append(type);
    nodes_[node].text_size = static_cast<std::uint32_t>(text.size());
    text_ += text;
    return true;
  }

  bool open(Type type) {
    if (open_.size() == Document::kMaxDepth) {
      too_deep_ = true;
      return false;
    }
    open_.push_back({.node = append(type), .last_child = 0});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Document::Node>& nodes_;
  std::string& text_;
  std::vector<Open> open_;
  std::uint32_t key_at_ = 0;
  std::uint32_t key_size_ = 0;
  bool too_deep_ = false;
  std::size_t position_ = 0;
  std::string message_;
};

namespace {

// Returns the index of the first bracket that is nested more than `limit` levels deep. The text
// must be well-formed up to that bracket.
std::size_t deep_bracket(std::string_view text, std::size_t limit) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if ((c == '[' || c == '{') && depth++ == limit) {
      return at;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text.size();
}

}  // namespace

std::expected<Document, ParseError> Document::parse(std::string_view text, std::string_view where) {
  // The parser takes NUL for the end of the text, so it would not check the text after a NUL.
  if (std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    if (text.find_first_not_of('\0', nul) == std::string_view::npos) {
      return std::unexpected(ends_early(text.substr(0, nul), where, "NUL bytes up to the end"));
    }
    return std::unexpected(error_at(text, where, nul, "a NUL byte", "write it as UTF-8 text"));
  }
  std::string_view content = text;
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  if (std::ranges::all_of(content, is_space)) {
    return std::unexpected(ends_early(text, where, text.empty() ? "an empty text" : "only blanks"));
  }

  Document document;
  // Reserves nodes for a text that consists of short values only. Memory that is not used is never
  // touched. Growth by doubling would hold all data twice.
  document.nodes_.reserve(text.size() / sizeof(Node));
  document.text_.reserve(text.size() / 2);
  Builder builder(document);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return document;
  if (builder.too_deep()) {
    return std::unexpected(error_at(text, where, deep_bracket(text, kMaxDepth),
                                    "more than " + std::to_string(kMaxDepth) + " nested levels",
                                    "write it with fewer"));
  }
  if (builder.position() > text.size()) {
    return std::unexpected(ends_early(text, where, "the end of the text before its last bracket"));
  }
  std::size_t offset = builder.position() == 0 ? 0 : builder.position() - 1;
  return std::unexpected(explain(text, where, offset, builder.message()));
}

Type Value::type() const { return document_->nodes_[node_].type; }

std::string_view Value::text() const {
  const Document::Node& node = document_->nodes_[node_];
  if (node.type == Type::kArray || node.type == Type::kObject || node.type == Type::kNull)
    return "";
  return std::string_view(document_->text_).substr(node.text_at, node.text_size);
}

std::string_view Value::key() const {
  const Document::Node& node = document_->nodes_[node_];
  return std::string_view(document_->text_).substr(node.key_at, node.key_size);
}

std::size_t Value::size() const {
  const Document::Node& node = document_->nodes_[node_];
  return node.type == Type::kArray || node.type == Type::kObject ? node.text_size : 0;
}

std::optional<Value> Value::find(std::string_view key) const {
  std::optional<Value> found;
  if (!is(Type::kObject)) return found;
  for (Value member : *this) {
    if (member.key() == key) found = member;
  }
  return found;
}

std::optional<std::int64_t> Value::integer() const {
  if (!is(Type::kInteger)) return std::nullopt;
  return parse_number<std::int64_t>(text());
}

Value::Iterator Value::begin() const { return {document_, size() == 0 ? 0 : node_ + 1}; }

Value::Iterator Value::end() const { return {document_, 0}; }

Value::Iterator& Value::Iterator::operator++() {
  node_ = document_->nodes_[node_].next;
  return *this;
}

namespace {

constexpr std::size_t kPieceBytes = 64UL * 1024;

// Deeper nesting than in any document, plus the levels that a writer adds itself.
constexpr std::size_t kMaxLevels = 2 * Document::kMaxDepth;
constexpr std::array<char, 2 * kMaxLevels + 1> kLineStart = [] {
  std::array<char, 2 * kMaxLevels + 1> start{};
  start.fill(' ');
  start[0] = '\n';
  return start;
}();

std::string_view line_start(std::size_t levels) {
  return {kLineStart.data(), 1 + 2 * std::min(levels, kMaxLevels)};
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F &&
           c != '"' && c != '\\';
  });
}

// Appends all parts and grows `out` at most once, because each value has several short parts.
void put(std::string& out, std::initializer_list<std::string_view> parts) {
  const std::size_t before = out.size();
  std::size_t size = before;
  for (std::string_view part : parts) size += part.size();
  if (size > out.capacity()) out.reserve(std::max(size, 2 * out.capacity()));
  out.resize_and_overwrite(size, [&](char* bytes, std::size_t end) {
    char* at = bytes + before;
    for (std::string_view part : parts) at = std::ranges::copy(part, at).out;
    return end;
  });
}

void append_string(std::string& out, std::string_view value, std::string_view behind = {}) {
  if (is_plain(value)) return put(out, {"\"", value, "\"", behind});
  const std::string text =
      nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // A terminal would interpret DEL, C1 and some Unicode marks, which JSON allows unescaped.
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (is_control(rest)) {
      std::uint32_t code = utf8_code(rest, length);
      if (code >= 0x10000) {
        code -= 0x10000;
        append_code(out, 'u', 0xD800 + (code >> 10U), 4);
        code = 0xDC00 + (code & 0x3FFU);
      }
      append_code(out, 'u', code, 4);
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  out += behind;
}

}  // namespace

void Writer::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (sink_ && out_.size() >= kPieceBytes) {
    sink_(out_);
    out_.clear();
  }
  if (has_items_.empty()) return;
  const std::string_view comma = has_items_.back() ? "," : "";
  has_items_.back() = true;
  put(out_, {comma, pretty_ ? line_start(has_items_.size()) : ""});
}

void Writer::close(char bracket) {
  bool had_items = has_items_.back();
  has_items_.pop_back();
  const std::string_view end(&bracket, 1);
  put(out_, {had_items && pretty_ ? line_start(has_items_.size()) : "", end});
}

Writer& Writer::begin_object() {
  before_value();
  out_ += '{';
  has_items_.push_back(false);
  return *this;
}

Writer& Writer::end_object() {
  close('}');
  return *this;
}

Writer& Writer::begin_array() {
  before_value();
  out_ += '[';
  has_items_.push_back(false);
  return *this;
}

Writer& Writer::end_array() {
  close(']');
  return *this;
}

Writer& Writer::key(std::string_view name) {
  before_value();
  append_string(out_, name, pretty_ ? ": " : ":");
  after_key_ = true;
  return *this;
}

Writer& Writer::string(std::string_view value) {
  before_value();
  append_string(out_, value);
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  before_value();
  out_ += std::to_string(value);
  return *this;
}

Writer& Writer::boolean(bool value) {
  before_value();
  out_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  before_value();
  out_ += "null";
  return *this;
}

Writer& Writer::literal(std::string_view text) {
  before_value();
  out_ += text;
  return *this;
}

// The recursion is limited: a Document is at most kMaxDepth levels deep.
Writer& Writer::copy(const Value& value) {  // NOLINT(misc-no-recursion)
  switch (value.type()) {
    case Type::kNull:
      return null();
    case Type::kBool:
    case Type::kInteger:
    case Type::kFloat:
      return literal(value.text());
    case Type::kString:
      return string(value.text());
    case Type::kArray:
      begin_array();
      for (Value item : value) copy(item);
      return end_array();
    case Type::kObject:
      begin_object();
      for (Value member : value) key(member.key()).copy(member);
      return end_object();
  }
  return *this;
}

std::string Writer::take() && {
  if (pretty_) out_ += '\n';
  return std::move(out_);
}

}  // namespace base::json
