#include "init/copy/copy_record.h"

#include <limits>
#include <optional>

#include "base/json.h"

namespace copy {
namespace {

constexpr const char* kWhat = "reading the record of a copy";
constexpr std::string_view kDigits = "0123456789ABCDEF";
constexpr std::size_t kIdentityDigits = 32;
// Limit for numbers of bytes and entries. No file system holds more, but the lengths of files with
// holes may add up to it.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 60U;

// Returns a path for JSON. A path can be any bytes, so a byte that is not printable ASCII becomes
// %XX, as in a URL.
std::string escaped(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '%') {
      text += c;
    } else {
      text.append({'%', kDigits[byte >> 4U], kDigits[byte & 0xFU]});
    }
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    if (text[0] != '%') {
      bytes += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3) return std::nullopt;
    const std::size_t high = kDigits.find(text[1]);
    const std::size_t low = kDigits.find(text[2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>((high << 4U) | low);
    text.remove_prefix(3);
  }
  return bytes;
}

// Limits a value to the signed integers that the JSON writer supports. No tree has more bytes.
std::int64_t to_signed(std::uint64_t value) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return value > std::uint64_t{kMax} ? kMax : static_cast<std::int64_t>(value);
}

// A reader of a record's members. After the first wrong member it reads nothing more.
class Reader {
 public:
  Reader(base::json::Value root, std::string_view where) : root_(root), where_(where) {}

  std::string text(const char* key) {
    const auto value = root_.find(key);
    const bool right = value && value->is(base::json::Type::kString);
    auto bytes = right ? unescaped(value->text()) : std::nullopt;
    if (!bytes) wrong_ = key;
    return bytes.value_or("");
  }
  std::int64_t number(const char* key) {
    const auto value = root_.find(key);
    const auto number = value ? value->integer() : std::nullopt;
    if (!number || *number < 0) wrong_ = key;
    return number.value_or(0);
  }
  bool flag(const char* key) {
    const auto value = root_.find(key);
    if (!value || !value->is(base::json::Type::kBool)) wrong_ = key;
    return value && value->text() == "true";
  }
  void require(bool holds, const char* key) {
    if (!holds) wrong_ = key;
  }

  [[nodiscard]] base::Status status() const {
    if (wrong_ == nullptr) return {};
    return base::fail(kWhat, std::string(where_),
                      std::string("no such \"") + wrong_ + "\" as it has",
                      "remove the copy that it describes");
  }

 private:
  base::json::Value root_;
  std::string_view where_;
  const char* wrong_ = nullptr;
};

}  // namespace

std::string record_to_json(const CopyRecord& record) {
  base::json::Writer out;
  out.begin_object();
  out.key("format").integer(1);
  out.key("source").string(escaped(record.source));
  out.key("identity").string(escaped(record.digest));
  out.key("version").string(escaped(record.version));
  out.key("options").string(escaped(record.options));
  out.key("path").string(escaped(record.path));
  out.key("entries").integer(to_signed(record.entries));
  out.key("bytes").integer(to_signed(record.bytes));
  out.key("allocated").integer(to_signed(record.allocated));
  out.key("finished_ms").integer(record.finished_ms);
  out.key("boot_id").string(escaped(record.boot_id));
  out.key("synced").boolean(record.synced);
  out.key("hashed").boolean(record.hashed);
  out.end_object();
  return std::move(out).take();
}

base::Result<CopyRecord> parse_record(std::string_view text, std::string_view where) {
  const auto document = base::json::Document::parse(text, where);
  if (!document) {
    base::Error error = document.error().error;
    error.what = kWhat;
    error.fix = "remove the copy that it describes";
    return std::unexpected(std::move(error));
  }
  Reader reader(document->root(), where);
  CopyRecord record;
  reader.require(reader.number("format") == 1, "format");
  record.source = reader.text("source");
  record.digest = reader.text("identity");
  record.version = reader.text("version");
  record.options = reader.text("options");
  record.path = reader.text("path");
  record.entries = static_cast<std::uint64_t>(reader.number("entries"));
  record.bytes = static_cast<std::uint64_t>(reader.number("bytes"));
  record.allocated = static_cast<std::uint64_t>(reader.number("allocated"));
  record.finished_ms = reader.number("finished_ms");
  record.boot_id = reader.text("boot_id");
  record.synced = reader.flag("synced");
  record.hashed = reader.flag("hashed");
  reader.require(record.entries <= kLargest, "entries");
  reader.require(record.allocated <= kLargest, "allocated");
  reader.require(record.source.starts_with('/'), "source");
  reader.require(record.path.starts_with('/'), "path");
  reader.require(record.digest.empty() || record.digest.size() == kIdentityDigits, "identity");
  TRY(reader.status());
  return record;
}

bool can_be_trusted(const CopyRecord& record, std::string_view boot_id) {
  return record.synced || (!boot_id.empty() && record.boot_id == boot_id);
}

}  // namespace copy
