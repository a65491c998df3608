// Any bytes on a connection of the link, in pieces of any size: frames that are what they say, each
// no larger than it may be, or the end of it; what they hold, as what it may be; and none that a
// session did not make.

#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/wire.h"
#include "init/engine/cluster/link_connection.h"
#include "init/engine/cluster/link_session.h"
#include "init/engine/cluster/link_wire.h"
#include "lifecycle/coordinator.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using engine::LinkConnection;
using engine::LinkFrame;

template <class T>
void read_as(std::string_view bytes) {
  const auto value = base::from_wire<T>(bytes);
  // One form for one value: what was read is what is written.
  if (value) require(base::to_wire(*value) == bytes);
}

void take_all(std::string_view bytes, std::uint32_t most) {
  while (true) {
    LinkFrame frame;
    std::size_t size = 0;
    if (engine::take_link_frame(bytes, most, frame, size) != engine::LinkTaken::kFrame) return;
    require(size <= bytes.size() && frame.payload.size() <= most);
    require(engine::link_frame(frame.kind, frame.payload, frame.tag) == bytes.substr(0, size));
    read_as<engine::LinkHello>(frame.payload);
    read_as<engine::LinkWelcome>(frame.payload);
    read_as<engine::LinkNodesRequest>(frame.payload);
    read_as<engine::LinkRows>(frame.payload);
    read_as<lifecycle::NodeReport>(frame.payload);
    read_as<lifecycle::NodeVerdict>(frame.payload);
    bytes.remove_prefix(size);
  }
}

// The first byte says in which pieces it comes.
void over_a_connection(std::string_view bytes, bool session) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const sys::Fd sender(ends[0]);
  LinkConnection connection{sys::Fd(ends[1]), 1000};
  if (session) {
    const engine::LinkKey key("secret of the fuzzer", "");
    connection.begin_session(key.session("nonce", "hello", true));
  }
  const std::size_t piece = bytes.empty() ? 1 : static_cast<unsigned char>(bytes.front()) + 1U;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, std::min(piece, bytes.size()));
    bytes.remove_prefix(part.size());
    require(::send(sender.get(), part.data(), part.size(), 0) == static_cast<ssize_t>(part.size()));
    require(connection.receive());
    LinkFrame frame;
    auto next = LinkConnection::Next::kNone;
    while ((next = connection.next(frame)) == LinkConnection::Next::kFrame) require(!session);
    if (next == LinkConnection::Next::kStranger) return;
  }
}

std::string hello() {
  return base::to_wire(engine::LinkHello{.node = 1, .nonce = std::string(32, 'n')});
}
std::string report() {
  lifecycle::NodeReport report;
  report.failure = lifecycle::NodeFailure{.message = "rank 3 failed", .detail = "lines"};
  report.phase = "running";
  return base::to_wire(report);
}
std::string verdict() {
  lifecycle::NodeVerdict verdict;
  verdict.failure = lifecycle::NodeFailure{.message = "rank 3 failed", .detail = "lines"};
  verdict.waits_for = "node 1";
  return base::to_wire(verdict);
}

}  // namespace

TRAINIT_FUZZER(link_frames) {
  constexpr std::size_t kMaxBytes = 40'000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kMaxBytes));
  take_all(bytes, engine::kMaxLinkPayload);
  take_all(bytes, engine::kMaxStrangersPayload);
  over_a_connection(bytes, false);
  over_a_connection(bytes, true);
  // What is nearly right, so that random bytes come further.
  static const std::array<std::string, 3> nearly_right = {hello(), report(), verdict()};
  for (const std::string& payload : nearly_right) {
    std::string changed = engine::link_frame(LinkFrame::Kind::kReport, payload, {});
    for (std::size_t i = 0; i + 1 < std::min<std::size_t>(bytes.size(), 8); i += 2) {
      changed.at(static_cast<unsigned char>(bytes[i]) % changed.size()) = bytes[i + 1];
    }
    take_all(changed, engine::kMaxLinkPayload);
    over_a_connection(changed, true);
  }
  return 0;
}
