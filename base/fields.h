#pragma once
// A struct that crosses a border between processes, or becomes JSON, lists its members once, beside
// its definition:
//
//   inline void fields(FieldVisitor& v, Wait& wait) {
//     v("path", wait.path);
//     v("timeout_ms", wait.timeout_ms, {.least = 0});
//   }
//
// The visitors write and read it: wire.h as bytes, json_fields.h as JSON. Texts, bools, integers,
// enums, such structs, and std::optional and std::vector of all these. Those that write change
// nothing of what they visit; those that read start from a value that nothing has been put into,
// and leave a member that they cannot read as it is.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace envgen {

// What holds for a member beyond its type, and for the items of a list.
struct Rule {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // of a number that is read
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint32_t most_items = 65'536;  // of a list that is read from the wire
  // In JSON only:
  std::optional<std::int64_t> null = {};  // this number is null
  bool omit = false;                      // left out where it is empty, 0 or false
  bool may_miss = false;                  // as in what older versions wrote
  bool masked = false;                    // what looks like a credential is "***"
  bool base64 = false;                    // a text that is no UTF-8 is {"base64": "..."}
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  template <class T>
  void operator()(std::string_view name, T& value, const Rule& rule = kPlain) {
    if constexpr (std::same_as<T, std::string>) {
      text(name, value, rule);
    } else if constexpr (std::same_as<T, bool>) {
      flag(name, value, rule);
    } else if constexpr (std::integral<T>) {
      integer(name, value, rule);
    } else {
      object(name, value, rule);
    }
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value, const Rule& rule = kPlain) {
    const bool there = present(name, value.has_value(), rule);
    if (there && !value) value.emplace();
    if (there) (*this)(name, *value, rule);
  }
  template <class T>
  void operator()(std::string_view name, std::vector<T>& items, const Rule& rule = kPlain) {
    list(name, &items, items.size(), rule,
         [](FieldVisitor& v, void* list, std::size_t i, const Rule& of) {
           auto& each = *static_cast<std::vector<T>*>(list);
           if (i == each.size()) each.emplace_back();
           v({}, each[i], of);  // without a name, not even an empty one
         });
  }
  // An enum of first .. last, a number everywhere.
  template <class E>
    requires std::is_enum_v<E>
  void operator()(std::string_view name, E& value, E last, E first = E{}) {
    auto number = static_cast<std::underlying_type_t<E>>(value);
    integer(name, number, {.least = static_cast<int>(first), .most = static_cast<int>(last)}, 4);
    put(value, static_cast<E>(number));
  }
  // An enum whose values have names in JSON.
  template <class E>
    requires std::is_enum_v<E>
  void operator()(std::string_view name, E& value, std::span<const std::string_view> names) {
    auto index = static_cast<std::size_t>(value);
    choice(name, index, names);
    put(value, static_cast<E>(index));
  }
  // A member that is there or not by another one's word, as an optional is. Whether it is.
  template <class T>
  bool when(bool there, std::string_view name, T& value, const Rule& rule = kPlain) {
    there = present(name, there, rule);
    if (there) (*this)(name, value, rule);
    return there;
  }

 protected:
  static constexpr Rule kPlain = {};
  struct Range {
    std::int64_t least, most;
    std::size_t bytes;  // 4 or 8, on the wire
    [[nodiscard]] bool holds(std::int64_t value) const { return value >= least && value <= most; }
  };

  virtual void text(std::string_view name, std::string& value, const Rule& rule) = 0;
  virtual void flag(std::string_view name, bool& value, const Rule& rule) = 0;
  virtual void number(std::string_view name, std::int64_t& value, const Range& range,
                      const Rule& rule) = 0;
  virtual void choice(std::string_view name, std::size_t& index,
                      std::span<const std::string_view> names) = 0;
  // Those that write are told, and those that read tell: whether there is a value, how many items.
  // Nothing, or false: what is in it is not visited, and it has no end.
  virtual bool present(std::string_view name, bool there, const Rule& rule) = 0;
  virtual std::optional<std::size_t> begin_list(std::string_view name, std::size_t size,
                                                const Rule& rule) = 0;
  virtual void end_list() = 0;
  virtual bool begin_object(std::string_view name) = 0;
  virtual void end_object() = 0;
  [[nodiscard]] virtual bool failed() const { return false; }  // nothing more can be read

 private:
  using Item = void (*)(FieldVisitor& v, void* items, std::size_t i, const Rule& rule);
  void list(std::string_view name, void* items, std::size_t size, const Rule& rule, Item item);
  // What is only written may lie in memory that cannot be.
  template <class T>
  static void put(T& value, T read) {
    if (value != read) value = read;
  }
  template <std::integral T>
  void integer(std::string_view name, T& value, const Rule& rule,
               std::size_t bytes = sizeof(T) > 4 ? 8 : 4) {
    using Limits = std::numeric_limits<T>;
    Range range{rule.least, rule.most, bytes};
    if constexpr (sizeof(T) < sizeof range.least) {
      range.least = std::max<std::int64_t>(range.least, Limits::min());
      range.most = std::min<std::int64_t>(range.most, Limits::max());
    }
    auto wide = static_cast<std::int64_t>(value);  // of 64 bits without a sign: the same bits
    number(name, wide, range, rule);
    put(value, static_cast<T>(wide));
  }
  template <class T>
  void object(std::string_view name, T& value, const Rule& /*rule*/) {
    if (!begin_object(name)) return;
    fields(*this, value);
    end_object();
  }
};

// For a visitor that writes, which changes nothing.
template <class T>
void visit(FieldVisitor& v, const T& value) {
  fields(v, const_cast<T&>(value));
}

}  // namespace envgen
