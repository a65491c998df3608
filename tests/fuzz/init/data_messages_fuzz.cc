// Any packet as what a dataset's child tells PID 1: refused, or read as what makes the same packet.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "init/engine/data/data_messages.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(data_news) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  const auto message = engine::decode_data_message(packet);
  if (!message) return 0;
  if (engine::decode_data_message(engine::encode_data_message(*message)) != message &&
      size <= engine::kMaxPacketBytes / 4) {
    std::abort();
  }
  return 0;
}
