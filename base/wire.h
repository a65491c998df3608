#pragma once
// Structs (fields.h) as bytes for another trainit process, and structs from untrusted bytes. The
// bytes contain no names, only the members in order, little endian. An integer has 4 or 8 bytes,
// depending on its type, and an enum 4. A bool has 1 byte, and so has the presence of an optional.
// A text is its length (4 bytes) and its bytes, a list is its count (4 bytes) and its items.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fields.h"

namespace base {

class WireOut final : public FieldVisitor {
 public:
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 protected:
  void text(std::string_view name, std::string& value, const Rule& rule) override;
  void flag(std::string_view name, bool& value, const Rule& rule) override;
  void number(std::string_view name, std::int64_t& value, const Range& range,
              const Rule& rule) override;
  void choice(std::string_view name, std::size_t& index,
              std::span<const std::string_view> names) override;
  bool present(std::string_view name, bool there, const Rule& rule) override;
  std::optional<std::size_t> begin_list(std::string_view name, std::size_t size,
                                        const Rule& rule) override;
  void end_list() override {}
  bool begin_object(std::string_view /*name*/) override { return true; }
  void end_object() override {}

 private:
  void raw(std::uint64_t value, std::size_t size);
  std::string bytes_;
};

// A visitor that reads while the bytes are valid: complete, in range, no list longer than allowed.
// After the first fault all values read are 0 or empty. A large count without bytes for its items
// does not take memory.
class WireIn final : public FieldVisitor {
 public:
  explicit WireIn(std::string_view bytes) : bytes_(bytes) {}
  // Returns true if all reads were valid and no byte is left.
  [[nodiscard]] bool finished() const { return ok_ && bytes_.empty(); }

 protected:
  void text(std::string_view name, std::string& value, const Rule& rule) override;
  void flag(std::string_view name, bool& value, const Rule& rule) override;
  void number(std::string_view name, std::int64_t& value, const Range& range,
              const Rule& rule) override;
  void choice(std::string_view name, std::size_t& index,
              std::span<const std::string_view> names) override;
  bool present(std::string_view name, bool there, const Rule& rule) override;
  std::optional<std::size_t> begin_list(std::string_view name, std::size_t size,
                                        const Rule& rule) override;
  void end_list() override {}
  bool begin_object(std::string_view /*name*/) override { return ok_; }
  void end_object() override {}
  [[nodiscard]] bool failed() const override { return !ok_; }

 private:
  std::uint64_t raw(std::size_t size);
  std::size_t at_most(std::size_t size, std::size_t most);
  std::string_view bytes_;
  bool ok_ = true;
};

template <class T>
std::string to_wire(const T& value) {
  WireOut out;
  out({}, const_cast<T&>(value));
  return std::move(out).take();
}

// Returns the value, or nullopt if `bytes` are not exactly one T.
template <class T>
std::optional<T> from_wire(std::string_view bytes) {
  WireIn in(bytes);
  std::optional<T> value(std::in_place);
  in({}, *value);
  if (!in.finished()) value.reset();
  return value;
}

}  // namespace base
