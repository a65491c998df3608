// Reads a rank table in one pass, without a tree of its values, because a large job's start waits
// for it. The scanner only accepts a table without any finding about a single field. It leaves
// every other text to the reader of the tree (ranktable_read.cc), which reports findings and
// errors. Rules about several fields are checked after both.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <memory_resource>

#include "envgen/ranktable/ranktable_impl.h"

namespace envgen::ranktable {
namespace {

constexpr std::uint32_t kMaxDeviceId = 15;
constexpr std::uint32_t kMaxDeviceIdTemplate2 = 7;
constexpr std::size_t kMaxNameBytes = 64;

// The characters that need no decoding in a string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

template <class Word>
Word word_at(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Compares two texts of about a dozen bytes, faster than a call of memcmp. The last word may
// overlap the one before it.
bool same_bytes(const char* a, const char* b, std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size < kWord) {
    for (; size > 0; ++a, ++b, --size) {
      if (*a != *b) return false;
    }
    return true;
  }
  for (std::size_t at = 0; at + kWord < size; at += kWord) {
    if (word_at<std::uint64_t>(a + at) != word_at<std::uint64_t>(b + at)) return false;
  }
  const std::size_t last = size - kWord;
  return word_at<std::uint64_t>(a + last) == word_at<std::uint64_t>(b + last);
}

// A cursor over strict JSON. Each function returns false if the text does not have the expected
// form.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] const char* place() const { return at_; }
  void go_to(const char* place) { at_ = place; }

  char next() {  // the next character after blanks; NUL at the end
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  bool eat(char c) {
    if (next() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool eat(std::string_view literal) {
    if (static_cast<std::size_t>(end_ - at_) < literal.size()) return false;
    if (!same_bytes(at_, literal.data(), literal.size())) return false;
    at_ += literal.size();
    return true;
  }
  bool at_end() { return next() == '\0' && at_ == end_; }
  std::string_view plain() {
    const char* start = at_;
    while (at_ < end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
    return {start, at_};
  }
  // Reads an address that is a whole string. Otherwise returns false, and the position stays.
  bool ipv4(std::uint32_t& number) {
    const char* at = at_;
    const auto found = ipv4_at(at, end_);
    if (!found || at == end_ || *at != '"') return false;
    at_ = at;
    number = *found;
    return true;
  }
  // Reads digits, with the rules of decimal().
  bool decimal(std::uint32_t& number) {
    constexpr std::ptrdiff_t kMaxDigits = 10;
    const char* start = at_;
    std::uint64_t value = 0;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9' && at_ - start < kMaxDigits) {
      value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    }
    number = static_cast<std::uint32_t>(value);
    return at_ > start && (*start != '0' || at_ == start + 1) && value < kNone;
  }
  bool string(std::string_view& text) {
    if (!eat('"')) return false;
    text = plain();
    return eat(std::string_view("\""));
  }
  template <class F>
  bool object(const F& member) {
    if (!eat('{')) return false;
    do {
      std::string_view key;
      if (!string(key) || !eat(':') || !member(key)) return false;
    } while (eat(','));
    return eat('}');
  }
  template <class F>
  bool array(const F& element) {  // an empty array is a failure
    if (!eat('[')) return false;
    do {
      if (!element()) return false;
    } while (eat(','));
    return eat(']');
  }
  // Skips an array of any values and sets `text` to it. It need not be valid JSON.
  bool skip_array(std::string_view& text) {
    constexpr int kMaxDepth = 16;
    if (next() != '[') return false;
    const char* start = at_;
    int depth = 0;
    for (bool in_string = false; at_ < end_; ++at_) {
      if (*at_ == '"') in_string = !in_string;
      if (in_string && *at_ == '\\') ++at_;
      if (in_string) continue;
      if (*at_ == '[' || *at_ == '{') ++depth;
      if (*at_ == ']' || *at_ == '}') --depth;
      if (depth > kMaxDepth) return false;
      if (depth > 0) continue;
      text = {start, ++at_};
      return true;
    }
    return false;
  }

 private:
  const char* at_;
  const char* end_;
};

// The set of an object's keys that were read.
class Keys {
 public:
  explicit Keys(std::span<const std::string_view> names) : names_(names) {}
  // Returns the number of a known key that was not read before.
  std::optional<std::size_t> take(std::string_view key) {
    const auto found = std::ranges::find(names_, key);
    const auto which = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end() || has(which)) return std::nullopt;
    seen_ |= 1U << which;
    order_[count_++] = *found;
    return which;
  }
  [[nodiscard]] bool has(std::size_t which) const { return (seen_ >> which & 1U) != 0; }
  // Returns whether the keys have the given order. The first object of a kind sets the order for
  // all its kind.
  bool in_order(std::vector<std::string_view>& order) const {
    const std::span own(order_.data(), count_);
    if (order.empty()) order.assign(own.begin(), own.end());
    return std::ranges::equal(own, order);
  }

 private:
  static constexpr std::size_t kMaxKeys = 8;
  std::span<const std::string_view> names_;
  std::array<std::string_view, kMaxKeys> order_;
  std::size_t count_ = 0;
  unsigned seen_ = 0;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), in_(text) {}

  std::optional<Scanned> scan() {
    // Reserves memory for the largest possible number of rows: no device's text is shorter than a
    // Row, and no server's shorter than an Owner. Memory that is not used costs nothing, while
    // growing does.
    table().rows.reserve(text_.size() / sizeof(Row));
    table().owners.reserve(text_.size() / sizeof(Owner));
    table().store = std::make_unique<std::pmr::monotonic_buffer_resource>();
    if (in_.next() != '{' || !root() || !in_.at_end()) return std::nullopt;
    return std::move(scanned_);
  }

 private:
  Table& table() { return scanned_.table; }

  // Copies a text, because the input may be freed before the table.
  std::string_view keep(std::string_view text) {
    if (text.empty()) return "";
    auto* bytes = static_cast<char*>(table().store->allocate(text.size(), 1));
    std::ranges::copy(text, bytes);
    return {bytes, text.size()};
  }
  bool name(std::string_view& kept, std::size_t most = kMaxNameBytes) {
    std::string_view text;
    if (!in_.string(text) || text.size() > most) return false;
    kept = keep(text);
    return true;
  }

  bool root() {
    static constexpr std::array<std::string_view, 7> kNames = {
        "status",         "version",     "server_count", "server_list",
        "super_pod_list", "group_count", "group_list"};
    Keys keys(kNames);
    std::string_view version;
    std::uint32_t count = kNone;
    const bool read = in_.object([&](std::string_view key) {
      std::string_view status;
      switch (keys.take(key).value_or(kNames.size())) {
        case 0:
          return in_.string(status) && status == "completed";
        case 1:
          return in_.string(version);
        case 2:
        case 5:
          return number(count);
        case 3:
          table().format = TableFormat::kTemplate1;
          return in_.array([&] { return server(); });
        case 4:
          return in_.skip_array(scanned_.super_pods);
        case 6:
          table().format = TableFormat::kTemplate2;
          return in_.array([&] { return group(); });
        default:
          return false;
      }
    });
    if (!read || !keys.has(0)) return false;
    if (keys.has(6)) {
      const bool others = keys.has(1) || keys.has(2) || keys.has(3) || keys.has(4);
      return !others && count == groups_.size() && keys.has(5);
    }
    if (version == "1.2") table().format = TableFormat::kTemplate1SuperPod;
    const bool known = version == "1.2" || (version == "1.0" && !keys.has(4));
    return known && keys.has(2) && keys.has(3) && !keys.has(5) && count == table().owners.size() &&
           keys.in_order(table().keys.top);
  }

  bool group() {
    static constexpr std::array<std::string_view, 4> kNames = {"group_name", "device_count",
                                                               "instance_count", "instance_list"};
    Keys keys(kNames);
    std::uint32_t devices = kNone;
    std::uint32_t instances = kNone;
    const std::size_t first_row = table().rows.size();
    const std::size_t first_owner = table().owners.size();
    std::string_view name;
    const bool read = in_.object([&](std::string_view key) {
      switch (keys.take(key).value_or(kNames.size())) {
        case 0:
          return in_.string(name) && name.size() <= kMaxNameBytes;
        case 1:
          return number(devices);
        case 2:
          return number(instances);
        case 3:
          return in_.array([&] { return instance(first_owner); });
        default:
          return false;
      }
    });
    if (!read || !keys.has(0) || !keys.has(3)) return false;
    constexpr std::size_t kMaxGroups = 64;  // a limit, because each name is compared with all
                                            // others
    const bool again = std::ranges::find(groups_, name) != groups_.end();
    if (again || groups_.size() == kMaxGroups) return false;
    groups_.push_back(name);
    return devices == table().rows.size() - first_row &&
           instances == table().owners.size() - first_owner;
  }

  bool instance(std::size_t first_owner) {
    static constexpr std::array<std::string_view, 3> kNames = {"pod_name", "server_id", "devices"};
    Owner owner{.group = static_cast<std::uint32_t>(groups_.size()),
                .position = static_cast<std::uint32_t>(table().owners.size() - first_owner)};
    table().owners.emplace_back();
    Keys keys(kNames);
    const bool read = in_.object([&](std::string_view key) {
      switch (keys.take(key).value_or(kNames.size())) {
        case 0:
          return name(owner.pod_name);
        case 1:
          return name(owner.server_id);
        case 2:
          return devices();
        default:
          return false;
      }
    });
    table().owners.back() = owner;
    return read && keys.has(0) && !owner.server_id.empty() && keys.has(2);
  }

  bool server() {
    static constexpr std::array<std::string_view, 3> kNames = {"server_id", "device",
                                                               "container_ip"};
    Owner owner{.position = static_cast<std::uint32_t>(table().owners.size())};
    table().owners.emplace_back();
    Keys keys(kNames);
    const bool read = in_.object([&](std::string_view key) {
      switch (keys.take(key).value_or(kNames.size())) {
        case 0:
          return name(owner.server_id);
        case 1:
          return devices();
        case 2:
          return name(owner.container_ip, std::string_view::npos);
        default:
          return false;
      }
    });
    table().owners.back() = owner;
    return read && !owner.server_id.empty() && keys.has(1) && keys.in_order(table().keys.server);
  }

  bool devices() {
    const Row empty{.owner = static_cast<std::uint32_t>(table().owners.size() - 1)};
    std::size_t position = 0;
    return in_.array([&] {
      Row row = empty;
      const char* start = in_.place();
      bool read = device_as_before(row);
      if (!read) {
        row = empty;
        in_.go_to(start);
        read = device(row);
      }
      row.position = Row::position_of(position++);
      if (read) table().rows.push_back(row);
      return read;
    });
  }

  enum Field : std::size_t { kDeviceId, kDeviceIp, kRankId, kSuperDeviceId, kFields };

  // Reads a field's value. The cursor is at a string's content before, and at its end afterwards.
  bool take(Row& row, Field field) {
    if (field == kDeviceIp) {
      row.ip_kind = IpKind::kNumber;
      if (!in_.ipv4(row.ip)) table().set_ip(row, keep(in_.plain()));
      return true;
    }
    std::uint32_t value = 0;
    if (!in_.decimal(value)) return false;
    if (field == kRankId) row.rank = value;
    if (field == kSuperDeviceId) row.super_device_id = value;
    if (field != kDeviceId) return true;
    row.device_id = static_cast<std::uint8_t>(value);
    const bool template2 = table().format == TableFormat::kTemplate2;
    return value <= (template2 ? kMaxDeviceIdTemplate2 : kMaxDeviceId);
  }

  bool device(Row& row) {
    static constexpr std::array<std::string_view, kFields> kNames = {"device_id", "device_ip",
                                                                     "rank_id", "super_device_id"};
    // A template 2 has no rank_id here: like other keys, it would have to be kept.
    const bool template2 = table().format == TableFormat::kTemplate2;
    Keys keys({kNames.data(), static_cast<std::size_t>(template2 ? kRankId : kFields)});
    const char* mark = in_.place();
    shape_.fields.clear();
    const bool read = in_.object([&](std::string_view key) {
      const auto which = keys.take(key);
      if (!which || !in_.eat('"')) return false;
      shape_.fields.push_back({.before = {mark, in_.place()}, .field = Field{*which}});
      if (!take(row, Field{*which})) return false;
      mark = in_.place();
      return in_.eat(std::string_view("\""));
    });
    shape_.end = {mark, in_.place()};
    if (!read || !keys.has(kDeviceId)) return false;
    return template2 || (keys.has(kRankId) && keys.in_order(table().keys.device));
  }

  // Reads a device with the bytes of the previous one, except for the values. Nearly all devices
  // are like that.
  bool device_as_before(Row& row) {
    for (const Shape::Part& part : shape_.fields) {
      if (!in_.eat(part.before) || !take(row, part.field)) return false;
    }
    return !shape_.fields.empty() && in_.eat(shape_.end);
  }

  bool number(std::uint32_t& value) {
    std::string_view text;
    if (!in_.string(text)) return false;
    value = decimal(text).value_or(kNone);
    return value != kNone;
  }

  struct Shape {
    struct Part {
      std::string_view before;  // the text before the value, equal for all devices
      Field field;
    };
    std::vector<Part> fields;
    std::string_view end;
  };

  std::string_view text_;
  Cursor in_;
  Scanned scanned_;
  Shape shape_;
  std::vector<std::string_view> groups_;
};

}  // namespace

std::optional<Scanned> scan_table(std::string_view text) { return Scanner(text).scan(); }

}  // namespace envgen::ranktable
