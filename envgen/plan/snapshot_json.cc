#include <array>

#include "base/json.h"
#include "base/secrets.h"
#include "envgen/plan/snapshot.h"

namespace envgen {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      bool padding = i + j > bytes.size();
      text += padding ? '=' : kBase64[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (char c : text) {
    if (c == '=') break;
    std::size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255);
  }
  return bytes;
}

// The length of the UTF-8 sequence that `bytes` starts with, 0 when it starts with none.
std::size_t utf8_length(std::string_view bytes) {
  auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return 1;
  std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(bytes[i]) & 0xc0) != 0x80) return 0;
  }
  auto second = static_cast<unsigned char>(bytes[1]);
  bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  bool outside = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : length;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void write_bytes(json::Writer& out, std::string_view bytes) {
  if (is_utf8(bytes)) {
    out.string(bytes);
  } else {
    out.begin_object().key("base64").string(to_base64(bytes)).end_object();
  }
}

std::optional<std::string> read_bytes(const json::Value& value) {
  if (value.is(json::Type::kString)) return std::string(value.text());
  if (!value.is(json::Type::kObject)) return std::nullopt;
  auto base64 = value.find("base64");
  if (!base64 || !base64->is(json::Type::kString)) return std::nullopt;
  return from_base64(base64->text());
}

constexpr std::array<std::string_view, 4> kKinds = {"absent", "file", "directory", "error"};

void write_path(json::Writer& out, const PathState& state, bool masked) {
  out.begin_object();
  out.key("kind").string(kKinds[static_cast<std::size_t>(state.kind)]);
  if (!state.content.empty()) {
    out.key("content");
    write_bytes(out, masked ? mask_secrets(state.content) : state.content);
  }
  if (state.listed || !state.entries.empty()) {
    out.key("entries").begin_array();
    for (const std::string& entry : state.entries) write_bytes(out, entry);
    out.end_array();
  }
  out.key("writable").boolean(state.writable);
  out.key("error").integer(state.error);
  out.key("size").integer(static_cast<std::int64_t>(state.size_bytes));
  if (state.executable) out.key("executable").boolean(true);
  if (state.null_device) out.key("null_device").boolean(true);
  out.end_object();
}

// An argument is looked up as a path, and may be a credential.
bool holds_secret(std::string_view path, const std::vector<std::string>& arguments) {
  if (mask_secrets(path) != path) return true;
  const std::vector<std::string> masked = masked_arguments(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (masked[i] != arguments[i] && path.ends_with("/" + arguments[i])) return true;
  }
  return false;
}

// Reads members, and remembers the first that is missing or of the wrong type.
class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  std::optional<json::Value> member(const json::Value& object, const char* name, json::Type type) {
    auto value = object.is(json::Type::kObject) ? object.find(name) : std::nullopt;
    if (value && value->is(type)) return value;
    miss(name, type);
    return std::nullopt;
  }
  std::string text(const json::Value& object, const char* name) {
    auto value = member(object, name, json::Type::kString);
    return value ? std::string(value->text()) : "";
  }
  std::int64_t number(const json::Value& object, const char* name) {
    auto value = member(object, name, json::Type::kInteger);
    auto integer = value ? value->integer() : std::nullopt;
    if (value && !integer) miss(name, json::Type::kInteger);
    return integer.value_or(0);
  }
  bool truth(const json::Value& object, const char* name) {
    auto value = member(object, name, json::Type::kBool);
    return value && value->text() == "true";
  }
  std::vector<std::string> list(const json::Value& object, const char* name) {
    std::vector<std::string> result;
    auto array = member(object, name, json::Type::kArray);
    if (!array) return result;
    for (json::Value item : *array) {
      auto bytes = read_bytes(item);
      if (!bytes) miss(name, json::Type::kArray);
      result.push_back(bytes.value_or(""));
    }
    return result;
  }
  void miss(const char* name, json::Type type) {
    if (!error_.what.empty()) return;
    error_ = {"reading a snapshot", where_ + ": " + name,
              "something that is not " + std::string(json::type_name(type)),
              "use a file that `trainit snapshot` wrote"};
  }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] bool ok() const { return error_.what.empty(); }

 private:
  std::string where_;
  Error error_;
};

PathState read_path(Reader& reader, const json::Value& value) {
  PathState state;
  std::string kind = reader.text(value, "kind");
  std::size_t index = 0;
  while (index < kKinds.size() && kKinds[index] != kind) ++index;
  if (index == kKinds.size()) {
    reader.miss("kind", json::Type::kString);
    return state;
  }
  state.kind = static_cast<PathState::Kind>(index);
  if (auto content = value.find("content")) state.content = read_bytes(*content).value_or("");
  state.listed = value.find("entries").has_value();
  if (state.listed) state.entries = reader.list(value, "entries");
  state.writable = reader.truth(value, "writable");
  if (value.find("executable")) state.executable = reader.truth(value, "executable");
  if (value.find("null_device")) state.null_device = reader.truth(value, "null_device");
  state.error = static_cast<int>(reader.number(value, "error"));
  state.size_bytes = static_cast<std::uint64_t>(reader.number(value, "size"));
  return state;
}

}  // namespace

std::string to_json(const Snapshot& snapshot, bool masked) {
  json::Writer out;
  out.begin_object();
  out.key("argv").begin_array();
  for (const std::string& argument : masked ? masked_arguments(snapshot.argv) : snapshot.argv) {
    write_bytes(out, argument);
  }
  out.end_array();
  out.key("environ").begin_array();
  for (const std::string& entry : snapshot.env.entries()) {
    write_bytes(out, masked ? masked_entry(entry) : entry);
  }
  out.end_array();
  const Facts& facts = snapshot.facts;
  out.key("facts").begin_object();
  out.key("cwd").string(facts.cwd);
  out.key("uid").integer(facts.uid);
  out.key("gid").integer(facts.gid);
  out.key("host_name").string(facts.host_name);
  out.key("addresses").begin_array();
  for (const std::string& address : facts.addresses) out.string(address);
  out.end_array();
  out.key("cpus").integer(facts.cpus);
  if (!facts.cpu_list.empty()) out.key("cpu_list").string(facts.cpu_list);
  out.key("run_dir").string(facts.run_dir);
  out.key("program").string(facts.program);
  out.end_object();
  out.key("paths").begin_object();
  for (const auto& [path, state] : snapshot.paths) {
    if (masked && holds_secret(path, snapshot.argv)) continue;
    out.key(path);
    write_path(out, state, masked);
  }
  out.end_object().end_object();
  return std::move(out).take();
}

Result<Snapshot> snapshot_from_json(std::string_view text, std::string_view where) {
  auto document = json::Document::parse(text, where);
  if (!document) {
    Error error = document.error().error;
    error.what = "reading a snapshot";
    return std::unexpected(std::move(error));
  }
  Reader reader(where);
  Snapshot snapshot;
  json::Value root = document->root();
  snapshot.argv = reader.list(root, "argv");
  snapshot.env = Environ(reader.list(root, "environ"));
  if (auto facts = reader.member(root, "facts", json::Type::kObject)) {
    snapshot.facts.cwd = reader.text(*facts, "cwd");
    snapshot.facts.uid = static_cast<std::uint32_t>(reader.number(*facts, "uid"));
    snapshot.facts.gid = static_cast<std::uint32_t>(reader.number(*facts, "gid"));
    snapshot.facts.host_name = reader.text(*facts, "host_name");
    snapshot.facts.addresses = reader.list(*facts, "addresses");
    snapshot.facts.cpus = static_cast<std::uint32_t>(reader.number(*facts, "cpus"));
    snapshot.facts.run_dir = reader.text(*facts, "run_dir");
    // Older snapshots lack these.
    if (facts->find("cpu_list")) snapshot.facts.cpu_list = reader.text(*facts, "cpu_list");
    if (facts->find("program")) snapshot.facts.program = reader.text(*facts, "program");
  }
  if (auto paths = reader.member(root, "paths", json::Type::kObject)) {
    for (json::Value state : *paths) {
      snapshot.paths[std::string(state.key())] = read_path(reader, state);
    }
  }
  if (!reader.ok()) return std::unexpected(reader.error());
  return snapshot;
}

}  // namespace envgen
