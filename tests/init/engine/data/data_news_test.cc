// What a dataset's child tells PID 1, with the lease of the copy.

#include "init/engine/data/data_news.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

namespace {

using engine::DataMail;
using engine::DataNews;

DataNews progress() {
  return {.progress = {.phase = 1,
                       .waiting = true,
                       .entries = 22'500,
                       .bytes = 1ULL << 40,
                       .total_entries = 50'000,
                       .total_bytes = ~0ULL}};
}

DataNews ready() {
  return {.kind = DataNews::Kind::kReady,
          .progress = {.phase = 5, .entries = 3, .bytes = 1000},
          .path = "/cache/a\nb",
          .text = "copied"};
}

class DataNewsTest : public testing::Test {
 protected:
  DataNewsTest() : socket_(*engine::make_data_socket()) {}
  DataMail receive() { return engine::receive_data_news(socket_.ours.get()); }
  engine::DataSocket socket_;
};

TEST_F(DataNewsTest, ArriveAsTheyWereSentInTheirOrder) {
  const DataNews failed{.kind = DataNews::Kind::kFailed, .exit_code = 69, .text = "too late"};
  for (const DataNews& news : {progress(), ready(), failed}) {
    engine::send_data_news(socket_.theirs.get(), news);
  }
  for (const DataNews& news : {progress(), ready(), failed}) {
    const DataMail mail = receive();
    EXPECT_EQ(mail.news, news);
    EXPECT_FALSE(mail.lease.valid());
  }
  EXPECT_FALSE(receive().news);
  EXPECT_FALSE(receive().damaged) << "there may be more";
}

TEST_F(DataNewsTest, BringTheLeaseWhichNoProgramThatIsStartedGets) {
  const sys::Fd file(::open("/", O_RDONLY | O_DIRECTORY));
  engine::send_data_news(socket_.theirs.get(), ready(), file.get());
  const DataMail mail = receive();
  ASSERT_TRUE(mail.lease.valid());
  EXPECT_NE(::fcntl(mail.lease.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DataNewsTest, EndWithTheChild) {
  engine::send_data_news(socket_.theirs.get(), ready());
  socket_.theirs.reset();
  EXPECT_EQ(receive().news, ready());
  EXPECT_TRUE(receive().damaged);
}

TEST_F(DataNewsTest, OfNobodyElseAreRefused) {
  std::string cut = engine::encode_data_news(ready());
  cut.pop_back();
  const std::string long_packet(engine::kMostPacketBytes + 1, 'x');
  for (const std::string& packet : {cut, std::string("x"), long_packet}) {
    ASSERT_EQ(::send(socket_.theirs.get(), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
    const DataMail mail = receive();
    EXPECT_FALSE(mail.news);
    EXPECT_TRUE(mail.damaged);
  }
}

TEST_F(DataNewsTest, OfProgressAreLostRatherThanWaitedFor) {
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) engine::send_data_news(socket_.theirs.get(), progress());
  EXPECT_EQ(receive().news, progress());
}

TEST_F(DataNewsTest, CutALongTextBetweenItsCharacters) {
  DataNews news = ready();
  for (int i = 0; i < 10'000; ++i) news.text += "\u00e9";
  engine::send_data_news(socket_.theirs.get(), news);
  const DataMail mail = receive();
  ASSERT_TRUE(mail.news);
  EXPECT_TRUE(mail.news->text.ends_with("\u00e9"));
  EXPECT_EQ(mail.news->path, news.path);
}

}  // namespace
