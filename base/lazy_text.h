#pragma once
// A text that either is a shared string, or is produced each time it is written. The latter is for
// a text that may be larger than all other data of its holder.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace base {

class LazyText {
 public:
  // A function that receives a text in pieces.
  using Sink = std::function<void(std::string_view)>;
  using Producer = std::function<void(const Sink&)>;

  LazyText() = default;         // ""
  LazyText(std::string text) {  // NOLINT(google-explicit-constructor): it is the text
    size_ = text.size();
    if (text.empty()) return;
    auto shared = std::make_shared<const std::string>(std::move(text));
    producer_ = [shared](const Sink& sink) { sink(*shared); };
  }
  LazyText(const char* text)
      : LazyText(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  // `producer` must give the same text in each call. The text must not be "".
  explicit LazyText(Producer producer) : size_(std::nullopt), producer_(std::move(producer)) {}

  [[nodiscard]] bool empty() const { return !producer_; }
  // Returns the size in bytes, or nullopt if the text would have to be produced to measure it.
  [[nodiscard]] std::optional<std::size_t> size() const { return size_; }
  void write(const Sink& sink) const {
    if (producer_) producer_(sink);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    write([&all](std::string_view piece) { all += piece; });
    return all;
  }
  // Compares the texts. Both texts are produced for this.
  bool operator==(const LazyText& other) const { return text() == other.text(); }

 private:
  std::optional<std::size_t> size_ = 0;
  Producer producer_;
};

}  // namespace base
