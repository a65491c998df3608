#pragma once
// JSON text as flat nodes, and a writer with one canonical form. The parser is nlohmann's (SAX);
// this file only decides how the result is kept: one arena for all text and 32 or so bytes a value,
// so that a rank table of 80,000 devices costs tens of megabytes and no malloc per value.
// Numbers keep their literal text: HCCL cares whether a field was 1 or "1".

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace envgen::json {

enum class Type : std::uint8_t { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

// "a string", "an integer", ... for messages.
std::string_view type_name(Type type);

struct ParseError {
  Error error;              // where: "<where>: line L, column C"
  bool incomplete = false;  // the text ended too early (empty or torn): it may be complete later
};

class Document;

// A value inside a Document, which must outlive it. Cheap to copy.
class Value {
 public:
  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is(Type wanted) const { return type() == wanted; }
  // A string's content; a number's or a bool's literal; empty for null, arrays and objects.
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::string_view key() const;  // inside an object; "" otherwise
  [[nodiscard]] std::size_t size() const;      // children of an array or object
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;  // last of doubles
  [[nodiscard]] std::optional<std::int64_t> integer() const;            // of kInteger, when it fits

  class Iterator;
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  friend class Document;
  Value(const Document* document, std::uint32_t node) : document_(document), node_(node) {}
  const Document* document_;
  std::uint32_t node_;
};

class Document {
 public:
  // `where` names the source in errors. At most kMaxDepth levels deep.
  static std::expected<Document, ParseError> parse(std::string_view text, std::string_view where);
  static constexpr std::size_t kMaxDepth = 64;

  [[nodiscard]] Value root() const { return {this, 0}; }

 private:
  friend class Value;
  friend class Builder;
  struct Node {
    Type type;
    std::uint32_t key_at, key_size, text_at, text_size;  // into text_; text_size counts children
    std::uint32_t next;                                  // the next sibling, 0 = none
  };
  std::vector<Node> nodes_;
  std::string text_;
};

class Value::Iterator {
 public:
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  Iterator(const Document* document, std::uint32_t node) : document_(document), node_(node) {}
  Value operator*() const { return {document_, node_}; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(const Iterator& other) const { return node_ == other.node_; }

 private:
  const Document* document_;
  std::uint32_t node_;  // 0 = end
};

// Takes a text piece by piece.
using Sink = std::function<void(std::string_view)>;

// Writes JSON with two spaces of indent ("pretty") or none. Bytes that are not UTF-8 become U+FFFD.
class Writer {
 public:
  explicit Writer(bool pretty = true) : pretty_(pretty) {}
  // Pretty, and what is written goes to `sink` but for its end, which is for take().
  explicit Writer(Sink sink) : sink_(std::move(sink)) {}
  void reserve(std::size_t bytes) { out_.reserve(bytes); }  // when much is to be written
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view value);
  Writer& integer(std::int64_t value);
  Writer& boolean(bool value);
  Writer& null();
  Writer& literal(std::string_view text);  // a value's text as it stands, which is JSON
  Writer& copy(const Value& value);     // a parsed value and all below it, numbers by their literal
  [[nodiscard]] std::string take() &&;  // the text, with a final newline when pretty

 private:
  void before_value();
  void close(char bracket);
  std::string out_;
  std::vector<bool> has_items_;  // one per open array or object
  bool after_key_ = false;
  bool pretty_ = true;
  Sink sink_;
};

}  // namespace envgen::json
