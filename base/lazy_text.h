#pragma once
// A text that may be made only where it is written: it may be larger than all else that its holder
// has. Of short ones it is a string that is shared.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace envgen {

class LazyText {
 public:
  // Takes a text piece by piece.
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
  // `producer` gives the same text, and not "", each time that it is called.
  explicit LazyText(Producer producer) : size_(std::nullopt), producer_(std::move(producer)) {}

  [[nodiscard]] bool empty() const { return !producer_; }
  // In bytes; nullopt where it would have to be made to know.
  [[nodiscard]] std::optional<std::size_t> size() const { return size_; }
  void write(const Sink& sink) const {
    if (producer_) producer_(sink);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    write([&all](std::string_view piece) { all += piece; });
    return all;
  }
  // Makes both.
  bool operator==(const LazyText& other) const { return text() == other.text(); }

 private:
  std::optional<std::size_t> size_ = 0;
  Producer producer_;
};

}  // namespace envgen
