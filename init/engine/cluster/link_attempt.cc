#include "init/engine/cluster/link_attempt.h"

#include <poll.h>

#include <utility>

#include "base/printed_text.h"
#include "base/text.h"
#include "base/wire.h"
#include "init/engine/cluster/link_socket.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {
namespace {

using Kind = LinkFrame::Kind;

// Limit for a TCP connection. With it a network that works again is noticed within two seconds. The
// kernel alone repeats the first packet after one second, and then after two more.
constexpr std::int64_t kConnectMs = 2000;
constexpr std::int64_t kAnswerMs = 10'000;

constexpr const char* kNotKnown =
    "it does not know this job: it has another --job-secret or list of nodes, or is of another job";
constexpr const char* kNoTrainit = "what listens there is no trainit of this job";

}  // namespace

LinkAttempt::LinkAttempt(const LinkSettings& settings, const LinkKey& key,
                         std::vector<std::string> addresses, std::int64_t now_ms)
    : settings_(settings), key_(key), addresses_(std::move(addresses)) {
  try_next(now_ms);
}

void LinkAttempt::try_next(std::int64_t now_ms) {
  while (next_ < addresses_.size()) {
    int error = 0;
    sys::Fd socket = begin_connect(socket_address(addresses_[next_++], settings_.port), error);
    if (!socket.valid()) {
      why_ = sys::errno_text(error);
      continue;
    }
    connection_ = LinkConnection(std::move(socket), settings_.timeout_ms);
    state_ = State::kConnecting;
    deadline_ms_ = now_ms + kConnectMs;
    return;
  }
  state_ = State::kFailed;
}

void LinkAttempt::fail(std::string why, std::int64_t now_ms) {
  connection_.abort();
  refused_ = state_ == State::kWelcoming && now_ms < deadline_ms_;
  why_ = std::move(why);
  try_next(now_ms);
}

short LinkAttempt::events() const {
  const bool sends = state_ == State::kConnecting || connection_.clogged();
  return static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN);
}

LinkAttempt::State LinkAttempt::step(std::int64_t now_ms) {
  if (state_ == State::kConnecting) connected(now_ms);
  if (state_ == State::kGreeting || state_ == State::kWelcoming) hear(now_ms);
  if (state_ == State::kFailed || state_ == State::kWelcomed || now_ms < deadline_ms_) {
    return state_;
  }
  const bool connecting = state_ == State::kConnecting;
  fail("no answer within " + base::seconds(connecting ? kConnectMs : kAnswerMs), now_ms);
  return state_;
}

void LinkAttempt::connected(std::int64_t now_ms) {
  if (!sys::is_ready(fd(), POLLOUT)) return;
  if (const int error = end_connect(fd()); error != 0) {
    fail(sys::errno_text(error), now_ms);
    return;
  }
  state_ = State::kGreeting;
  deadline_ms_ = now_ms + kAnswerMs;
}

void LinkAttempt::hear(std::int64_t now_ms) {
  if (!connection_.flush() || !connection_.receive()) {
    fail(state_ == State::kWelcoming ? kNotKnown : kNoTrainit, now_ms);
    return;
  }
  LinkFrame frame;
  auto next = LinkConnection::Next::kNone;
  while (state_ != State::kWelcomed &&
         (next = connection_.next(frame)) == LinkConnection::Next::kFrame) {
    if (!hear_frame(frame, now_ms)) return;
  }
  if (next == LinkConnection::Next::kStranger) {
    fail(state_ == State::kWelcoming ? kNotKnown : kNoTrainit, now_ms);
  }
}

// Handles a received frame. Returns false if this connection has failed.
bool LinkAttempt::hear_frame(const LinkFrame& frame, std::int64_t now_ms) {
  if (state_ == State::kGreeting && frame.kind == Kind::kGreeting &&
      frame.payload.size() == kLinkNonceBytes && say_hello(frame.payload)) {
    state_ = State::kWelcoming;
    deadline_ms_ = now_ms + kAnswerMs;
    return true;
  }
  if (state_ == State::kWelcoming && frame.kind == Kind::kWelcome) {
    if (const auto welcome = base::from_wire<LinkWelcome>(frame.payload)) {
      heartbeat_ms_ = welcome->heartbeat_ms;
      state_ = State::kWelcomed;
      return true;
    }
  }
  const bool answers = state_ == State::kWelcoming;
  if (answers && frame.kind == Kind::kDiffers) {
    if (const auto difference = base::from_wire<LinkDifference>(frame.payload)) {
      differs_ = true;
      ends_job_ = difference->ends_job;
      fail(base::escaped_text(difference->how), now_ms);
      return false;
    }
  }
  const bool refused = answers && frame.kind == Kind::kRefused;
  fail(refused ? base::escaped_text(frame.payload) : kNoTrainit, now_ms);
  return false;
}

bool LinkAttempt::say_hello(std::string_view nonce) {
  const LinkHello hello{.node = settings_.node,
                        .node_count = settings_.node_count,
                        .cluster = settings_.cluster,
                        .instance = settings_.instance,
                        .clock_ms = sys::wall_ms(),
                        .nonce = new_link_nonce(),
                        .world_size = settings_.world_size};
  if (hello.nonce.empty()) return false;
  const std::string bytes = base::to_wire(hello);
  const std::string theirs(nonce);
  if (!connection_.send_tagged(Kind::kHello, bytes, key_.hello_tag(theirs, bytes))) return false;
  connection_.begin_session(key_.session(theirs, bytes, false));
  return true;
}

}  // namespace engine
