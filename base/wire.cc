#include "base/wire.h"

namespace base {

void WireOut::raw(std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
}

void WireOut::text(std::string_view /*name*/, std::string& value, const Rule& /*rule*/) {
  raw(value.size(), 4);
  bytes_ += value;
}

void WireOut::flag(std::string_view /*name*/, bool& value, const Rule& /*rule*/) {
  raw(value ? 1 : 0, 1);
}

void WireOut::number(std::string_view /*name*/, std::int64_t& value, const Range& range,
                     const Rule& /*rule*/) {
  raw(static_cast<std::uint64_t>(value), range.bytes);
}

void WireOut::choice(std::string_view /*name*/, std::size_t& index,
                     std::span<const std::string_view> /*names*/) {
  raw(index, 4);
}

bool WireOut::present(std::string_view /*name*/, bool there, const Rule& /*rule*/) {
  raw(there ? 1 : 0, 1);
  return there;
}

std::optional<std::size_t> WireOut::begin_list(std::string_view /*name*/, std::size_t size,
                                               const Rule& /*rule*/) {
  raw(size, 4);
  return size;
}

std::uint64_t WireIn::raw(std::size_t size) {
  ok_ = ok_ && size <= bytes_.size();
  if (!ok_) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
  }
  bytes_.remove_prefix(size);
  return value;
}

std::size_t WireIn::at_most(std::size_t size, std::size_t most) {
  const std::uint64_t value = raw(size);
  ok_ = ok_ && value <= most;
  return ok_ ? value : 0;
}

void WireIn::text(std::string_view /*name*/, std::string& value, const Rule& /*rule*/) {
  const std::size_t size = raw(4);
  ok_ = ok_ && size <= bytes_.size();
  if (!ok_) return;
  value = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
}

void WireIn::flag(std::string_view /*name*/, bool& value, const Rule& /*rule*/) {
  value = at_most(1, 1) != 0;
}

void WireIn::number(std::string_view /*name*/, std::int64_t& value, const Range& range,
                    const Rule& /*rule*/) {
  auto read = static_cast<std::int64_t>(raw(range.bytes));
  if (range.bytes == 4 && range.least < 0) read = static_cast<std::int32_t>(read);
  ok_ = ok_ && range.holds(read);
  if (ok_) value = read;
}

void WireIn::choice(std::string_view /*name*/, std::size_t& index,
                    std::span<const std::string_view> names) {
  index = at_most(4, names.size() - 1);
}

bool WireIn::present(std::string_view /*name*/, bool /*there*/, const Rule& /*rule*/) {
  return at_most(1, 1) != 0;
}

std::optional<std::size_t> WireIn::begin_list(std::string_view /*name*/, std::size_t /*size*/,
                                              const Rule& rule) {
  const std::size_t count = at_most(4, rule.most_items);
  ok_ = ok_ && count <= bytes_.size();  // each item has at least one byte
  if (!ok_) return std::nullopt;
  return count;
}

}  // namespace base
