// What a dataset's child tells PID 1, with the lease of the copy.

#include "init/engine/data/data_messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

namespace {

using engine::DataMessage;
using engine::ReceivedData;

DataMessage progress() {
  return {.progress = {.phase = 1,
                       .waiting = true,
                       .entries = 22'500,
                       .bytes = 1ULL << 40,
                       .total_entries = 50'000,
                       .total_bytes = ~0ULL}};
}

DataMessage ready() {
  return {.kind = DataMessage::Kind::kReady,
          .progress = {.phase = 5, .entries = 3, .bytes = 1000},
          .path = "/cache/a\nb",
          .text = "copied"};
}

class DataMessageTest : public testing::Test {
 protected:
  DataMessageTest() : socket_(*engine::make_data_socket()) {}
  ReceivedData receive() { return engine::receive_data_message(socket_.ours.get()); }
  engine::DataSocket socket_;
};

TEST_F(DataMessageTest, ArriveAsTheyWereSentInTheirOrder) {
  const DataMessage failed{.kind = DataMessage::Kind::kFailed, .exit_code = 69, .text = "too late"};
  for (const DataMessage& message : {progress(), ready(), failed}) {
    engine::send_data_message(socket_.theirs.get(), message);
  }
  for (const DataMessage& message : {progress(), ready(), failed}) {
    const ReceivedData received = receive();
    EXPECT_EQ(received.message, message);
    EXPECT_FALSE(received.lease.valid());
  }
  EXPECT_FALSE(receive().message);
  EXPECT_FALSE(receive().damaged) << "there may be more";
}

TEST_F(DataMessageTest, BringTheLeaseWhichNoProgramThatIsStartedGets) {
  const sys::Fd file(::open("/", O_RDONLY | O_DIRECTORY));
  engine::send_data_message(socket_.theirs.get(), ready(), file.get());
  const ReceivedData received = receive();
  ASSERT_TRUE(received.lease.valid());
  EXPECT_NE(::fcntl(received.lease.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DataMessageTest, EndWithTheChild) {
  engine::send_data_message(socket_.theirs.get(), ready());
  socket_.theirs.reset();
  EXPECT_EQ(receive().message, ready());
  EXPECT_TRUE(receive().damaged);
}

TEST_F(DataMessageTest, OfNobodyElseAreRefused) {
  std::string cut = engine::encode_data_message(ready());
  cut.pop_back();
  const std::string long_packet(engine::kMaxPacketBytes + 1, 'x');
  for (const std::string& packet : {cut, std::string("x"), long_packet}) {
    ASSERT_EQ(::send(socket_.theirs.get(), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
    const ReceivedData received = receive();
    EXPECT_FALSE(received.message);
    EXPECT_TRUE(received.damaged);
  }
}

TEST_F(DataMessageTest, OfProgressAreLostRatherThanWaitedFor) {
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) engine::send_data_message(socket_.theirs.get(), progress());
  EXPECT_EQ(receive().message, progress());
}

TEST_F(DataMessageTest, CutALongTextBetweenItsCharacters) {
  DataMessage message = ready();
  for (int i = 0; i < 10'000; ++i) message.text += "\u00e9";
  engine::send_data_message(socket_.theirs.get(), message);
  const ReceivedData received = receive();
  ASSERT_TRUE(received.message);
  EXPECT_TRUE(received.message->text.ends_with("\u00e9"));
  EXPECT_EQ(received.message->path, message.path);
}

}  // namespace
