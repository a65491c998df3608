#include "envgen/failure/pickle.h"

#include <algorithm>
#include <array>
#include <utility>

namespace envgen {
namespace {

constexpr int kNewestProtocol = 5;
constexpr const char* kFix = "write the dump with PyTorch's own flight recorder";

// Opcodes, with their names in pickletools.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

struct RefusedOpcode {
  unsigned char code;
  const char* name;
};

// Opcodes that are refused: they import or call something, or ask the reading program for an
// object.
constexpr auto kRefused = std::to_array<RefusedOpcode>({
    {'c', "GLOBAL"},
    {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
});

std::string hex_of(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {'0', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

}  // namespace

// Runs the opcodes of one pickle. Stops at the first error.
class Unpickler {
 public:
  Unpickler(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}
  base::Result<DataTree> read();

 private:
  using Kind = DataValue::Kind;

  // Functions that return bool return false after an error, and set error_.
  bool step(unsigned char code);
  bool step_value(unsigned char code);
  bool step_text(unsigned char code);
  bool step_stack(unsigned char code);
  bool step_container(unsigned char code);
  bool refuse(unsigned char code);
  bool push(std::uint32_t node);
  bool push_number(Kind kind, std::int64_t number = 0) { return push(tree_.add(kind, number)); }
  bool push_integer(std::size_t size, bool is_signed);
  bool push_long(std::size_t length_bytes);
  bool push_text(Kind kind, std::size_t length_bytes, bool is_signed = false);
  bool push_tuple(std::size_t size);
  bool get(std::size_t key_bytes);
  bool put(std::size_t key_bytes);
  bool store(std::uint64_t key);
  bool append(std::size_t from, Kind kind);
  bool make_from_mark(Kind kind);
  bool number(std::size_t size, std::uint64_t& value);  // little endian
  bool take(std::uint64_t size, std::string_view& part);
  bool pop_mark(std::size_t& from);
  bool failed(std::string_view found, std::string_view fix = kFix);
  bool truncated() {
    return failed("the end of the file", "let the rank finish writing, then read the dump again");
  }

  // Returns the number of values above the innermost mark.
  [[nodiscard]] std::size_t above_mark() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }

  std::string_view bytes_, where_;
  std::size_t at_ = 0;      // index of the next byte
  std::size_t opcode_ = 0;  // index of the current opcode
  DataTree tree_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;  // stack sizes at each mark
  std::vector<std::optional<std::uint32_t>> memo_;
  std::size_t references_ = 0;  // total number of children of all containers
  bool stopped_ = false;
  base::Error error_;
};

bool Unpickler::failed(std::string_view found, std::string_view fix) {
  error_ = {.what = "reading a pickle",
            .where = std::string(where_) + ": byte " + std::to_string(opcode_),
            .found = std::string(found),
            .fix = std::string(fix)};
  return false;
}

bool Unpickler::take(std::uint64_t size, std::string_view& part) {
  if (size > bytes_.size() - at_) return truncated();
  part = bytes_.substr(at_, size);
  at_ += size;
  return true;
}

bool Unpickler::number(std::size_t size, std::uint64_t& value) {
  std::string_view part;
  if (!take(size, part)) return false;
  value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(part[i]);
  }
  return true;
}

bool Unpickler::push(std::uint32_t node) {
  const bool full =
      tree_.nodes_.size() > DataTree::kMaxValues || stack_.size() >= DataTree::kMaxValues;
  if (full) {
    return failed("more than " + std::to_string(DataTree::kMaxValues) + " values",
                  "let the recorder keep fewer operations (TORCH_FR_BUFFER_SIZE)");
  }
  stack_.push_back(node);
  return true;
}

bool Unpickler::push_integer(std::size_t size, bool is_signed) {
  std::uint64_t value = 0;
  if (!number(size, value)) return false;
  if (is_signed) return push_number(Kind::kInteger, static_cast<std::int32_t>(value));
  return push_number(Kind::kInteger, static_cast<std::int64_t>(value));
}

// Pushes a two's complement integer of any length.
bool Unpickler::push_long(std::size_t length_bytes) {
  std::uint64_t length = 0;
  std::string_view part;
  if (!number(length_bytes, length) || !take(length, part)) return false;
  if (length > sizeof(std::int64_t)) return push_number(Kind::kNumber);
  const bool negative = !part.empty() && static_cast<signed char>(part.back()) < 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = part.size(); i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(part[i]);
  }
  return push_number(Kind::kInteger, static_cast<std::int64_t>(value));
}

bool Unpickler::push_text(Kind kind, std::size_t length_bytes, bool is_signed) {
  std::uint64_t length = 0;
  std::string_view part;
  if (!number(length_bytes, length)) return false;
  if (is_signed && static_cast<std::int32_t>(length) < 0) return failed("a negative length");
  if (!take(length, part)) return false;
  if (length > DataTree::kMaxTextBytes) {
    return failed("a text of " + std::to_string(length) + " bytes, more than " +
                  std::to_string(DataTree::kMaxTextBytes));
  }
  return push(tree_.add(kind, 0, part));
}

bool Unpickler::push_tuple(std::size_t size) {
  if (above_mark() < size) return failed("a tuple of more values than there are");
  references_ += size;
  if (references_ > 2 * DataTree::kMaxValues) return failed("too many references to values");
  const auto from = stack_.end() - static_cast<std::ptrdiff_t>(size);
  std::vector<std::uint32_t> items(from, stack_.end());
  stack_.erase(from, stack_.end());
  return push(tree_.add_container(Kind::kTuple, std::move(items)));
}

bool Unpickler::get(std::size_t key_bytes) {
  std::uint64_t key = 0;
  if (!number(key_bytes, key)) return false;
  if (key >= memo_.size() || !memo_[key]) {
    return failed("a reference to memo entry " + std::to_string(key) + ", which does not exist");
  }
  return push(*memo_[key]);
}

bool Unpickler::store(std::uint64_t key) {
  if (above_mark() == 0) return failed("a memo entry without a value");
  if (key >= DataTree::kMaxValues) {
    return failed("memo entry " + std::to_string(key) + ", at most " +
                  std::to_string(DataTree::kMaxValues) + " can be kept");
  }
  // Refuses a memo entry far above all others, which would allocate more memory than the input
  // justifies. Writers number memo entries from 0.
  if (key > at_) return failed("memo entry " + std::to_string(key) + " before all lower ones");
  if (key >= memo_.size()) memo_.resize(key + 1);
  memo_[key] = stack_.back();
  return true;
}

bool Unpickler::put(std::size_t key_bytes) {
  std::uint64_t key = 0;
  return number(key_bytes, key) && store(key);
}

bool Unpickler::pop_mark(std::size_t& from) {
  if (marks_.empty()) return failed("the end of a container that was not begun");
  from = marks_.back();
  marks_.pop_back();
  return true;
}

// Moves the stack's values from index `from` on into the list or dictionary below them.
bool Unpickler::append(std::size_t from, Kind kind) {
  const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (from <= bottom || from > stack_.size()) return failed("items without a container");
  const std::uint32_t container = stack_[from - 1];
  if (tree_.nodes_[container].kind != kind) return failed("items for something else");
  const std::size_t count = stack_.size() - from;
  if (kind == Kind::kDict && count % 2 != 0) return failed("a key without a value");
  references_ += count;
  if (references_ > 2 * DataTree::kMaxValues) return failed("too many references to values");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(from);
  auto& children = tree_.children(container);
  children.insert(children.end(), first, stack_.end());
  stack_.erase(first, stack_.end());
  return true;
}

bool Unpickler::make_from_mark(Kind kind) {
  std::size_t from = 0;
  if (!pop_mark(from)) return false;
  const std::size_t count = stack_.size() - from;
  if (kind == Kind::kDict && count % 2 != 0) return failed("a key without a value");
  references_ += count;
  if (references_ > 2 * DataTree::kMaxValues) return failed("too many references to values");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(from);
  std::vector<std::uint32_t> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return push(tree_.add_container(kind, std::move(items)));
}

bool Unpickler::refuse(unsigned char code) {
  const auto found = std::ranges::find(kRefused, code, &RefusedOpcode::code);
  if (found != kRefused.end()) {
    return failed(std::string("the opcode ") + found->name +
                      ", which makes a reader import or call something",
                  "do not load this file with Python unless you trust its writer; a flight "
                  "recorder's dump holds data alone");
  }
  return failed("the byte " + hex_of(code) + ", which is no opcode of data in protocols 2 to 5");
}

bool Unpickler::step_value(unsigned char code) {
  std::string_view part;
  switch (code) {
    case kNone:
      return push_number(Kind::kNone);
    case kNewTrue:
      return push_number(Kind::kBool, 1);
    case kNewFalse:
      return push_number(Kind::kBool, 0);
    case kBinInt:
      return push_integer(4, true);
    case kBinInt1:
      return push_integer(1, false);
    case kBinInt2:
      return push_integer(2, false);
    case kLong1:
      return push_long(1);
    case kLong4:
      return push_long(4);
    case kBinFloat:
      return take(8, part) && push_number(Kind::kNumber);
    default:
      return step_text(code);
  }
}

bool Unpickler::step_text(unsigned char code) {
  switch (code) {
    case kBinString:
      return push_text(Kind::kText, 4, true);
    case kShortBinString:
    case kShortBinUnicode:
      return push_text(Kind::kText, 1);
    case kBinUnicode:
      return push_text(Kind::kText, 4);
    case kBinUnicode8:
      return push_text(Kind::kText, 8);
    case kShortBinBytes:
      return push_text(Kind::kBytes, 1);
    case kBinBytes:
      return push_text(Kind::kBytes, 4);
    case kBinBytes8:
    case kByteArray8:
      return push_text(Kind::kBytes, 8);
    default:
      return step_container(code);
  }
}

bool Unpickler::step_container(unsigned char code) {
  std::size_t from = 0;
  switch (code) {
    case kEmptyList:
      return push(tree_.add_container(Kind::kList));
    case kEmptyDict:
      return push(tree_.add_container(Kind::kDict));
    case kEmptyTuple:
      return push(tree_.add_container(Kind::kTuple));
    case kTuple1:
      return push_tuple(1);
    case kTuple2:
      return push_tuple(2);
    case kTuple3:
      return push_tuple(3);
    case kTuple:
      return make_from_mark(Kind::kTuple);
    case kList:
      return make_from_mark(Kind::kList);
    case kDict:
      return make_from_mark(Kind::kDict);
    case kAppend:
      if (above_mark() < 2) return failed("an item without a list");
      return append(stack_.size() - 1, Kind::kList);
    case kSetItem:
      if (above_mark() < 3) return failed("an entry without a dictionary");
      return append(stack_.size() - 2, Kind::kDict);
    case kAppends:
      return pop_mark(from) && append(from, Kind::kList);
    case kSetItems:
      return pop_mark(from) && append(from, Kind::kDict);
    default:
      return step_stack(code);
  }
}

bool Unpickler::step_stack(unsigned char code) {
  std::size_t from = 0;
  std::uint64_t value = 0;
  switch (code) {
    case kMark:
      if (marks_.size() >= DataTree::kMaxMarks) {
        return failed("more than " + std::to_string(DataTree::kMaxMarks) + " nested containers");
      }
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      if (above_mark() == 0) return failed("nothing to remove");
      stack_.pop_back();
      return true;
    case kPopMark:
      if (!pop_mark(from)) return false;
      stack_.resize(from);
      return true;
    case kDup:
      if (above_mark() == 0) return failed("nothing to repeat");
      return push(stack_.back());
    case kBinGet:
      return get(1);
    case kLongBinGet:
      return get(4);
    case kBinPut:
      return put(1);
    case kLongBinPut:
      return put(4);
    case kMemoize:
      return store(memo_.size());
    case kFrame:
      if (!number(8, value)) return false;
      return value <= bytes_.size() - at_ || truncated();
    default:
      return refuse(code);
  }
}

bool Unpickler::step(unsigned char code) {
  if (code != kProto && code != kStop) return step_value(code);
  if (code == kProto) {
    std::uint64_t protocol = 0;
    if (!number(1, protocol)) return false;
    if (protocol >= 2 && protocol <= kNewestProtocol) return true;
    return failed("protocol " + std::to_string(protocol) + ", not one of 2 to 5");
  }
  if (stack_.size() != 1 || !marks_.empty()) {
    return failed("the end of the pickle with " + std::to_string(stack_.size()) + " values, not 1");
  }
  tree_.root_ = stack_.back();
  stopped_ = true;
  return true;
}

base::Result<DataTree> Unpickler::read() {
  if (bytes_.size() > DataTree::kMaxBytes) {
    failed(
        std::to_string(bytes_.size()) + " bytes, more than " + std::to_string(DataTree::kMaxBytes),
        "let the recorder keep fewer operations (TORCH_FR_BUFFER_SIZE)");
    return std::unexpected(std::move(error_));
  }
  if (!bytes_.empty() && static_cast<unsigned char>(bytes_[0]) != kProto) {
    failed("no pickle of protocol 2 to 5");
    return std::unexpected(std::move(error_));
  }
  while (!stopped_) {
    opcode_ = at_;
    const bool good =
        at_ < bytes_.size() ? step(static_cast<unsigned char>(bytes_[at_++])) : truncated();
    if (!good) return std::unexpected(std::move(error_));
  }
  return std::move(tree_);
}

base::Result<DataTree> DataTree::from_pickle(std::string_view bytes, std::string_view where) {
  return Unpickler(bytes, where).read();
}

std::uint32_t DataTree::add(Kind kind, std::int64_t number, std::string_view text) {
  nodes_.push_back({kind, number, text});
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t DataTree::add_container(Kind kind, std::vector<std::uint32_t> children) {
  children_.push_back(std::move(children));
  return add(kind, static_cast<std::int64_t>(children_.size() - 1));
}

bool DataTree::is_container(std::uint32_t node) const { return nodes_[node].kind >= Kind::kList; }

std::vector<std::uint32_t>& DataTree::children(std::uint32_t node) {
  return children_[static_cast<std::size_t>(nodes_[node].number)];
}

const std::vector<std::uint32_t>& DataTree::children(std::uint32_t node) const {
  return children_[static_cast<std::size_t>(nodes_[node].number)];
}

std::uint32_t DataTree::add_json(const base::json::Value& value) {
  switch (value.type()) {
    case base::json::Type::kNull:
      return add(Kind::kNone);
    case base::json::Type::kBool:
      return add(Kind::kBool, value.text() == "true" ? 1 : 0);
    case base::json::Type::kFloat:
      return add(Kind::kNumber);
    case base::json::Type::kString:
      return add(Kind::kText, 0, value.text());
    case base::json::Type::kInteger: {
      const auto number = value.integer();
      return number ? add(Kind::kInteger, *number) : add(Kind::kNumber);
    }
    default:
      break;
  }
  const bool dict = value.is(base::json::Type::kObject);
  std::vector<std::uint32_t> items;
  for (const base::json::Value one : value) {
    if (dict) items.push_back(add(Kind::kText, 0, one.key()));
    items.push_back(add_json(one));
  }
  return add_container(dict ? Kind::kDict : Kind::kList, std::move(items));
}

DataTree DataTree::from_json(const base::json::Document& document) {
  DataTree tree;
  tree.root_ = tree.add_json(document.root());
  return tree;
}

DataValue::Kind DataValue::kind() const { return tree_->nodes_[node_].kind; }

std::string_view DataValue::text() const { return tree_->nodes_[node_].text; }

std::optional<std::int64_t> DataValue::integer() const {
  const auto& node = tree_->nodes_[node_];
  if (node.kind != Kind::kInteger && node.kind != Kind::kBool) return std::nullopt;
  return node.number;
}

std::size_t DataValue::size() const {
  if (!tree_->is_container(node_)) return 0;
  return tree_->children(node_).size() / (kind() == Kind::kDict ? 2 : 1);
}

DataValue DataValue::item(std::size_t i) const {
  return {tree_, tree_->children(node_)[kind() == Kind::kDict ? 2 * i + 1 : i]};
}

DataValue DataValue::key(std::size_t i) const { return {tree_, tree_->children(node_)[2 * i]}; }

std::optional<DataValue> DataValue::find(std::string_view key) const {
  if (kind() != Kind::kDict) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;) {
    const DataValue name = this->key(i);
    if (name.kind() == Kind::kText && name.text() == key) return item(i);
  }
  return std::nullopt;
}

}  // namespace envgen
