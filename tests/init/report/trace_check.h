#pragma once
// Chrome's trace event format, as far as Perfetto and chrome://tracing insist on it: the object
// form, spans that are complete, nested on each thread, and in a process and a thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace trace {

struct Item {
  std::string phase;
  std::string name;
  std::string category;
  std::int64_t start_us = 0;
  std::int64_t duration_us = 0;
  std::int64_t pid = -1;
  std::int64_t tid = -1;
  std::map<std::string, std::string> args;
};

inline std::string text_of(const base::json::Value& object, const char* key) {
  const auto value = object.find(key);
  return value ? std::string(value->text()) : "";
}

inline std::int64_t number_of(const base::json::Value& object, const char* key) {
  const auto value = object.find(key);
  return value ? value->integer().value_or(INT64_MIN) : INT64_MIN;
}

inline Item item_of(const base::json::Value& event) {
  Item item{.phase = text_of(event, "ph"),
            .name = text_of(event, "name"),
            .category = text_of(event, "cat"),
            .start_us = number_of(event, "ts"),
            .duration_us = number_of(event, "dur"),
            .pid = number_of(event, "pid"),
            .tid = number_of(event, "tid"),
            .args = {}};
  if (const auto args = event.find("args")) {
    EXPECT_TRUE(args->is(base::json::Type::kObject));
    for (const base::json::Value arg : *args) {
      item.args[std::string(arg.key())] = std::string(arg.text());
    }
  }
  return item;
}

inline void check(const Item& item) {
  EXPECT_NE(item.name, "");
  EXPECT_GE(item.pid, 0) << item.name;
  EXPECT_GE(item.tid, 0) << item.name;
  if (item.phase == "M") {
    EXPECT_TRUE(item.name == "process_name" || item.name == "thread_name") << item.name;
    EXPECT_TRUE(item.args.contains("name")) << item.name;
    return;
  }
  EXPECT_TRUE(item.phase == "X" || item.phase == "i" || item.phase == "C") << item.phase;
  EXPECT_GT(item.start_us, 0) << item.name;
  if (item.phase == "X") {
    EXPECT_GE(item.duration_us, 0) << item.name;
  }
}

// The items of a trace file, each of which keeps the rules.
inline std::vector<Item> items_of(const std::string& text) {
  std::vector<Item> items;
  const auto document = base::json::Document::parse(text, "trace.json");
  if (!document) {
    ADD_FAILURE() << to_line(document.error().error) << "\n" << text;
    return items;
  }
  EXPECT_EQ(text_of(document->root(), "displayTimeUnit"), "ms");
  const auto list = document->root().find("traceEvents");
  if (!list || !list->is(base::json::Type::kArray)) {
    ADD_FAILURE() << "no list of traceEvents";
    return items;
  }
  using Span = std::pair<std::int64_t, std::int64_t>;
  std::map<Span, std::vector<Span>> spans;  // by process and thread
  for (const base::json::Value event : *list) {
    items.push_back(item_of(event));
    const Item& item = items.back();
    check(item);
    if (item.phase != "X") continue;
    auto& others = spans[{item.pid, item.tid}];
    const Span span{item.start_us, item.start_us + item.duration_us};
    for (const Span& other : others) {
      const bool apart = span.second <= other.first || other.second <= span.first;
      const bool inside = (span.first >= other.first && span.second <= other.second) ||
                          (other.first >= span.first && other.second <= span.second);
      EXPECT_TRUE(apart || inside) << item.name << " overlaps another span of its thread";
    }
    others.push_back(span);
  }
  return items;
}

inline const Item* find(const std::vector<Item>& items, const std::string& phase,
                        const std::string& name) {
  for (const Item& item : items) {
    if (item.phase == phase && item.name == name) return &item;
  }
  return nullptr;
}

}  // namespace trace
