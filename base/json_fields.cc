#include "base/json_fields.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/characters/utf8.h"
#include "base/secrets/secrets.h"

namespace base {
namespace {

constexpr std::string_view kBase64 = "base64";

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// Returns true for an item of a list: its name has no data, while an empty name of a member has.
bool is_item(std::string_view name) { return name.data() == nullptr; }

}  // namespace

bool JsonOut::is_omitted(std::string_view name, bool is_default, const Rule& rule) {
  const bool present = std::exchange(present_, false);
  return rule.omit && is_default && !present && !is_item(name);
}

json::Writer& JsonOut::at(std::string_view name) { return is_item(name) ? out_ : out_.key(name); }

void JsonOut::text(std::string_view name, std::string& value, const Rule& rule) {
  if (is_omitted(name, value.empty(), rule)) return;
  if (rule.masked) {
    at(name).string(mask_secrets(value));
  } else if (rule.base64 && !is_utf8(value)) {
    at(name).begin_object().key(kBase64).string(to_base64(value)).end_object();
  } else {
    at(name).string(value);
  }
}

void JsonOut::flag(std::string_view name, bool& value, const Rule& rule) {
  if (!is_omitted(name, !value, rule)) at(name).boolean(value);
}

void JsonOut::number(std::string_view name, std::int64_t& value, const Range& /*range*/,
                     const Rule& rule) {
  if (is_omitted(name, value == 0, rule)) return;
  if (rule.null && value == *rule.null) {
    at(name).null();
  } else {
    at(name).integer(value);
  }
}

void JsonOut::choice(std::string_view name, std::size_t& index,
                     std::span<const std::string_view> names) {
  present_ = false;
  at(name).string(names[index]);
}

bool JsonOut::present(std::string_view name, bool there, const Rule& rule) {
  if (!there && !is_omitted(name, true, rule)) at(name).null();
  present_ = there;
  return there;
}

std::optional<std::size_t> JsonOut::begin_list(std::string_view name, std::size_t size,
                                               const Rule& rule) {
  if (is_omitted(name, size == 0, rule)) return std::nullopt;
  at(name).begin_array();
  return size;
}

bool JsonOut::begin_object(std::string_view name) {
  present_ = false;
  at(name).begin_object();
  return true;
}

JsonIn::JsonIn(const json::Value& object) { open(object, "", false); }

Status JsonIn::finish(std::string_view what, std::string_view where, std::string_view fix) {
  end_object();
  const std::string& bad = missing_.empty() ? wrong_ : missing_;
  if (missing_.empty() && wanted_.empty()) return {};
  std::string place(where);
  if (!bad.empty()) place += ": " + bad;
  std::string found = missing_.empty() ? "something that is not " + wanted_ : "no such member";
  if (!unknown_.empty()) found += ", but an unknown " + unknown_;
  return fail(what, std::move(place), std::move(found), std::string(fix));
}

void JsonIn::text(std::string_view name, std::string& value, const Rule& rule) {
  auto found = find(name, rule);
  if (!found) return;
  const bool encoded = rule.base64 && found->is(json::Type::kObject);
  if (encoded) found = found->find(kBase64);
  if (!found || !found->is(json::Type::kString)) {
    return note_wrong(name, json::type_name(json::Type::kString));
  }
  auto bytes = encoded ? from_base64(found->text()) : std::string(found->text());
  if (!bytes) return note_wrong(name, kBase64);
  value = std::move(*bytes);
}

void JsonIn::flag(std::string_view name, bool& value, const Rule& rule) {
  if (const auto found = find(name, json::Type::kBool, rule)) value = found->text() == "true";
}

void JsonIn::number(std::string_view name, std::int64_t& value, const Range& range,
                    const Rule& rule) {
  const auto found = find(name, rule);
  if (!found) return;
  if (rule.null && found->is(json::Type::kNull)) {
    value = *rule.null;
    return;
  }
  const auto integer = found->integer();
  if (!integer || !range.holds(*integer)) return note_wrong(name, "an integer in its range");
  value = *integer;
}

void JsonIn::choice(std::string_view name, std::size_t& index,
                    std::span<const std::string_view> names) {
  const auto found = find(name, json::Type::kString, {});
  if (!found) return;
  const auto one = std::ranges::find(names, found->text());
  if (one == names.end()) {
    std::string wanted;
    for (const std::string_view word : names) {
      wanted += (wanted.empty() ? "" : " or ") + std::string(word);
    }
    return note_wrong(name, wanted);
  }
  index = static_cast<std::size_t>(one - names.begin());
}

bool JsonIn::present(std::string_view name, bool /*there*/, const Rule& /*rule*/) {
  Open& in = open_.back();
  if (in.is_list) {
    if (!(*in.next).is(json::Type::kNull)) return true;
    ++in.next;
    return false;
  }
  in.known.push_back(name);
  const auto found = in.value.find(name);
  return found && !found->is(json::Type::kNull);
}

std::optional<std::size_t> JsonIn::begin_list(std::string_view name, std::size_t /*size*/,
                                              const Rule& rule) {
  const auto found = find(name, json::Type::kArray, rule);
  if (!found) return std::nullopt;
  open(*found, path_of(name), true);
  return found->size();
}

bool JsonIn::begin_object(std::string_view name) {
  const auto found = find(name, json::Type::kObject, {});
  if (found) open(*found, path_of(name), false);
  return found.has_value();
}

// Remembers the first member of the object that no visitor call has read: it is unknown.
void JsonIn::end_object() {
  const Open& in = open_.back();
  for (const json::Value member : in.value) {
    const bool known = std::ranges::find(in.known, member.key()) != in.known.end();
    if (!known && unknown_.empty() && in.value.is(json::Type::kObject)) {
      unknown_ = path_of(member.key());
    }
  }
  open_.pop_back();
}

void JsonIn::open(const json::Value& value, std::string path, bool is_list) {
  open_.push_back(
      {.value = value, .path = std::move(path), .is_list = is_list, .next = value.begin()});
}

std::string JsonIn::path_of(std::string_view name) const {
  std::string path = open_.empty() ? "" : open_.back().path;
  if (is_item(name)) return path;
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::optional<json::Value> JsonIn::find(std::string_view name, const Rule& rule) {
  Open& in = open_.back();
  if (in.is_list) {
    const json::Value item = *in.next;
    ++in.next;
    return item;
  }
  in.known.push_back(name);
  const auto found = in.value.find(name);
  if (!found && !rule.omit && !rule.may_miss && missing_.empty()) missing_ = path_of(name);
  return found;
}

std::optional<json::Value> JsonIn::find(std::string_view name, json::Type type, const Rule& rule) {
  const auto found = find(name, rule);
  if (!found || found->is(type)) return found;
  note_wrong(name, json::type_name(type));
  return std::nullopt;
}

void JsonIn::note_wrong(std::string_view name, std::string_view wanted) {
  if (!wanted_.empty()) return;
  wanted_ = wanted;
  wrong_ = path_of(name);
}

}  // namespace base
