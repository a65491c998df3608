#pragma once
// A reader for the data in Python's pickle format, protocols 2 to 5: None, booleans, integers,
// floats, text, bytes, lists, tuples and dictionaries. A pickle is a program for a stack machine.
// This reader runs only the opcodes that build data, and refuses those that import or call
// something. A value that a pickle uses twice is one node, so references cannot multiply memory.
// The tree can also hold a JSON document, so that callers need only one interface. Format:
// https://github.com/python/cpython/blob/main/Lib/pickletools.py. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace envgen {

class DataTree;

// A value of a DataTree, which must outlive it. Cheap to copy.
class DataValue {
 public:
  enum class Kind : unsigned char {
    kNone,
    kBool,
    kInteger,
    kNumber,  // a float, or an integer of more than 64 bits: its value is not kept
    kText,
    kBytes,
    kList,
    kTuple,
    kDict,
  };
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] std::string_view text() const;                // text of kText, kBytes; otherwise ""
  [[nodiscard]] std::optional<std::int64_t> integer() const;  // value of kInteger, kBool
  // Returns the number of items of a list or a tuple, or of entries of a dictionary; otherwise 0.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] DataValue item(std::size_t i) const;  // requires i < size(); a dictionary's value
  [[nodiscard]] DataValue key(std::size_t i) const;   // requires i < size() of a dictionary
  // find(): with duplicate keys, the value of the last one
  [[nodiscard]] std::optional<DataValue> find(std::string_view key) const;

 private:
  friend class DataTree;
  DataValue(const DataTree* tree, std::uint32_t node) : tree_(tree), node_(node) {}
  const DataTree* tree_;
  std::uint32_t node_;
};

class DataTree {
 public:
  // Limits for a pickle. At most about 100 bytes of memory are used for each byte of it.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
  static constexpr std::size_t kMaxValues = std::size_t{1} << 20;  // also limits memo entries
  static constexpr std::size_t kMaxMarks = 64;                     // limit for nested containers
  static constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;

  // Reads a pickle. Text and bytes of the tree are views of `bytes`, which must outlive it. `where`
  // names the source in errors. Bytes after the end of the pickle are ignored, as in Python.
  static base::Result<DataTree> from_pickle(std::string_view bytes, std::string_view where);
  // Converts a JSON document. Text is a view of `document`, which must outlive the tree.
  static DataTree from_json(const base::json::Document& document);

  [[nodiscard]] DataValue root() const { return {this, root_}; }

 private:
  friend class DataValue;
  friend class Unpickler;
  using Kind = DataValue::Kind;
  struct Node {
    Kind kind = Kind::kNone;
    std::int64_t number = 0;  // the number, or for a container its index in children_
    std::string_view text;
  };
  std::uint32_t add(Kind kind, std::int64_t number = 0, std::string_view text = {});
  std::uint32_t add_container(Kind kind, std::vector<std::uint32_t> children = {});
  std::uint32_t add_json(const base::json::Value& value);  // recursion is limited by
                                                           // json::Document::kMaxDepth
  [[nodiscard]] bool is_container(std::uint32_t node) const;
  std::vector<std::uint32_t>& children(std::uint32_t node);
  [[nodiscard]] const std::vector<std::uint32_t>& children(std::uint32_t node) const;

  std::vector<Node> nodes_;
  std::vector<std::vector<std::uint32_t>> children_;  // items of each container; for a dictionary
                                                      // key, value, key, value
  std::uint32_t root_ = 0;
};

}  // namespace envgen
