#pragma once
// JSON text as flat nodes, and a writer with one canonical form. The parser is nlohmann's (SAX);
// this file only decides how the result is stored. One arena holds all text, and each value takes
// about 32 bytes. A rank table of 80,000 devices therefore costs tens of megabytes and no malloc
// per value. Numbers keep their literal text, because HCCL distinguishes 1 from "1".

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

namespace base::json {

enum class Type : std::uint8_t { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

// Returns "a string", "an integer", ... for messages.
std::string_view type_name(Type type);

struct ParseError {
  Error error;              // error.where is "<where>: line L, column C"
  bool incomplete = false;  // the text is empty or truncated: a later read may find all of it
};

class Document;

// A value in a Document. The Document must outlive it. Values are cheap to copy.
class Value {
 public:
  [[nodiscard]] Type type() const;
  [[nodiscard]] bool is(Type wanted) const { return type() == wanted; }
  // Returns the content of a string, or the literal text of a number or a bool. Returns "" for
  // null, arrays and objects.
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::string_view key() const;  // name of this member of an object; "" otherwise
  [[nodiscard]] std::size_t size() const;      // children of an array or object
  // with several members of that key, the last one
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;  // the value of a kInteger, if it fits

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
  // Parses `text`. `where` names the source in errors. Values may be nested at most kMaxDepth
  // levels.
  static std::expected<Document, ParseError> parse(std::string_view text, std::string_view where);
  static constexpr std::size_t kMaxDepth = 64;

  [[nodiscard]] Value root() const { return {this, 0}; }

 private:
  friend class Value;
  friend class Builder;
  struct Node {
    Type type;
    // Offsets of the key and the text in text_. For arrays and objects text_size is the number of
    // children.
    std::uint32_t key_at, key_size, text_at, text_size;
    std::uint32_t next;  // index of the next sibling; 0: no sibling follows
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
  std::uint32_t node_;  // index in the document; 0: behind the last child
};

// A function that receives a text in pieces.
using Sink = std::function<void(std::string_view)>;

// A writer of JSON, either with two spaces of indent ("pretty") or without blanks. Bytes that are
// not UTF-8 become U+FFFD.
class Writer {
 public:
  explicit Writer(bool pretty = true) : pretty_(pretty) {}
  // Sends pretty JSON to `sink` in pieces while it is written. take() returns the last piece.
  explicit Writer(Sink sink) : sink_(std::move(sink)) {}
  // call it before a large document is written
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view value);
  Writer& integer(std::int64_t value);
  Writer& boolean(bool value);
  Writer& null();
  Writer& literal(std::string_view text);  // inserts `text`, which must be the JSON text of one
                                           // value
  Writer& copy(const Value& value);  // writes `value` with all its children; numbers keep their
                                     // literals
  // Returns the text, without the pieces that a sink has received. Pretty JSON ends with a newline.
  [[nodiscard]] std::string take() &&;

 private:
  void before_value();
  void close(char bracket);
  std::string out_;
  std::vector<bool> has_items_;  // one per open array or object
  bool after_key_ = false;
  bool pretty_ = true;
  Sink sink_;
};

}  // namespace base::json
