#pragma once
// Serialization of structs. A struct that is sent to another process, or becomes JSON, lists its
// members once, beside its definition:
//
//   inline void fields(FieldVisitor& v, Wait& wait) {
//     v("path", wait.path);
//     v("timeout_ms", wait.timeout_ms, {.least = 0});
//   }
//
// The visitors of wire.h write and read the members as bytes, those of json_fields.h as JSON. A
// member is a text, a bool, an integer, an enum, another such struct, or a std::optional or
// std::vector of these. A visitor that writes does not change the struct. A visitor that reads
// needs a default-constructed struct; a member that it cannot read keeps its value.

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

namespace base {

// Constraints on a member beyond its type. For a list, they apply to its items.
struct Rule {
  // minimum and maximum of a number that is read
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint32_t most_items = 65'536;  // maximum number of items of a list that is read from wire
                                      // bytes
  // The rules below apply only to JSON.
  std::optional<std::int64_t> null = {};  // the number that is written as null
  bool omit = false;                      // the member is left out if it is empty, 0 or false
  bool may_miss = false;  // a reader accepts JSON without this member, as written by older versions
  bool masked = false;    // credentials are replaced by "***"
  bool base64 = false;    // a text that is not UTF-8 becomes {"base64": "..."}
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
           v({}, each[i], of);  // an item has no name: data() is null, unlike ""
         });
  }
  // Visits an enum whose values are first .. last. JSON contains the value's number.
  template <class E>
    requires std::is_enum_v<E>
  void operator()(std::string_view name, E& value, E last, E first = E{}) {
    auto number = static_cast<std::underlying_type_t<E>>(value);
    integer(name, number, {.least = static_cast<int>(first), .most = static_cast<int>(last)}, 4);
    put(value, static_cast<E>(number));
  }
  // Visits an enum whose values have names. JSON contains the name, the wire bytes the index.
  template <class E>
    requires std::is_enum_v<E>
  void operator()(std::string_view name, E& value, std::span<const std::string_view> names) {
    auto index = static_cast<std::size_t>(value);
    choice(name, index, names);
    put(value, static_cast<E>(index));
  }
  // Visits `value` like an optional: it is present only if `there`, which the caller takes from
  // another member. Returns true if the value is present.
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
    std::size_t bytes;  // size on the wire: 4 or 8
    [[nodiscard]] bool holds(std::int64_t value) const { return value >= least && value <= most; }
  };

  virtual void text(std::string_view name, std::string& value, const Rule& rule) = 0;
  virtual void flag(std::string_view name, bool& value, const Rule& rule) = 0;
  virtual void number(std::string_view name, std::int64_t& value, const Range& range,
                      const Rule& rule) = 0;
  virtual void choice(std::string_view name, std::size_t& index,
                      std::span<const std::string_view> names) = 0;
  // Visitors that write get the presence of a value, and the size of a list, as arguments. Visitors
  // that read ignore these arguments and return what they have read. If present() or begin_object()
  // returns false, or begin_list() nullopt, the content is not visited and no end function is
  // called.
  virtual bool present(std::string_view name, bool there, const Rule& rule) = 0;
  virtual std::optional<std::size_t> begin_list(std::string_view name, std::size_t size,
                                                const Rule& rule) = 0;
  virtual void end_list() = 0;
  virtual bool begin_object(std::string_view name) = 0;
  virtual void end_object() = 0;
  // true: a fault was read, so the rest cannot be read
  [[nodiscard]] virtual bool failed() const { return false; }

 private:
  using Item = void (*)(FieldVisitor& v, void* items, std::size_t i, const Rule& rule);
  void list(std::string_view name, void* items, std::size_t size, const Rule& rule, Item item);
  // Assigns only a changed value. While a visitor writes, the struct may be in read-only memory, so
  // an assignment of an equal value would crash.
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
    auto wide = static_cast<std::int64_t>(value);  // an unsigned 64-bit value keeps its bits
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

// Visits a constant value. `v` must be a visitor that writes, as it must not change the value.
template <class T>
void visit(FieldVisitor& v, const T& value) {
  fields(v, const_cast<T&>(value));
}

}  // namespace base
