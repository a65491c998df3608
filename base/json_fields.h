#pragma once
// Visitors that write structs (fields.h) as JSON, and read them from untrusted JSON. Members keep
// their order. An optional without a value becomes null, or is left out with Rule::omit.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"

namespace base {

class JsonOut final : public FieldVisitor {
 public:
  // Creates a visitor that writes at the position of `out`. A member with a name is written with
  // its key into the open object, a value without a name as one value.
  explicit JsonOut(json::Writer& out) : out_(out) {}

  // Writes one member. An item of a list, which has no name, cannot be written with it.
  template <class T>
  void add(std::string_view name, const T& value, const Rule& rule = kPlain) {
    (*this)(name, const_cast<T&>(value), rule);
  }

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
  void end_list() override { out_.end_array(); }
  bool begin_object(std::string_view name) override;
  void end_object() override { out_.end_object(); }

 private:
  json::Writer& at(std::string_view name);
  bool is_omitted(std::string_view name, bool is_default, const Rule& rule);
  json::Writer& out_;
  bool present_ = false;  // the next value is that of an optional: write it even if it is 0
};

// A visitor that reads the members of a JSON object. A member that is missing or wrong keeps its
// value in the struct. finish() reports the first fault, also if the JSON value is not an object.
class JsonIn final : public FieldVisitor {
 public:
  explicit JsonIn(const json::Value& object);

  // Reads a member that is an object with arbitrary keys, such as {"a": 1, "b": 2}.
  template <class T>
  void map(std::string_view name, std::map<std::string, T>& items) {
    const auto found = find(name, json::Type::kObject, kPlain);
    if (!found) return;
    open(*found, path_of(name), true);
    for (const json::Value item : *found) (*this)({}, items[std::string(item.key())]);
    end_list();
  }
  // Returns the first missing member as an error, or otherwise the first wrong one. The error also
  // names an unknown member. `where` names the object. Unknown members alone are not an error,
  // because a later version of trainit may write more members.
  [[nodiscard]] Status finish(std::string_view what, std::string_view where, std::string_view fix);

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
  void end_list() override { open_.pop_back(); }
  bool begin_object(std::string_view name) override;
  void end_object() override;

 private:
  struct Open {
    json::Value value;
    std::string path;
    bool is_list = false;
    json::Value::Iterator next;
    std::vector<std::string_view> known = {};
  };
  void open(const json::Value& value, std::string path, bool is_list);
  [[nodiscard]] std::string path_of(std::string_view name) const;
  std::optional<json::Value> find(std::string_view name, const Rule& rule);
  std::optional<json::Value> find(std::string_view name, json::Type type, const Rule& rule);
  void note_wrong(std::string_view name, std::string_view wanted);

  std::vector<Open> open_;
  std::string missing_;
  std::string unknown_;
  std::string wrong_;
  std::string wanted_;  // description of the value that was expected where wrong_ is
};

template <class T>
void write_json(json::Writer& out, const T& value) {
  out.begin_object();
  JsonOut v(out);
  visit(v, value);
  out.end_object();
}

}  // namespace base
