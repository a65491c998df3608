#pragma once
// A text that is made where it is written, and kept by nobody: it may be larger than all else that
// its holder has. Of short ones it is a string that is shared.

#include <functional>
#include <memory>
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
    if (text.empty()) return;
    auto shared = std::make_shared<const std::string>(std::move(text));
    producer_ = [shared](const Sink& sink) { sink(*shared); };
  }
  LazyText(const char* text)
      : LazyText(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  // `producer` gives the same text, and not "", each time that it is called.
  explicit LazyText(Producer producer) : producer_(std::move(producer)) {}

  [[nodiscard]] bool empty() const { return !producer_; }
  void write(const Sink& sink) const {
    if (producer_) producer_(sink);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    write([&all](std::string_view piece) { all += piece; });
    return all;
  }
  bool operator==(const LazyText& other) const { return text() == other.text(); }

 private:
  Producer producer_;
};

}  // namespace envgen
