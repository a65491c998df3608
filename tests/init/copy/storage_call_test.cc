#include "init/copy/storage_call.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace {

using copy::CopySide;

TEST(StorageCall, ErrorsOfTheStorageAreThoseThatSayNothingOfTheEntry) {
  for (const int error : {EIO, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ECONNRESET,
                          ENOTCONN, ENOLINK, EREMOTEIO, ESHUTDOWN, EAGAIN, EBUSY, ENODEV}) {
    EXPECT_TRUE(copy::is_storage_error(error)) << error;
  }
  for (const int error : {ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, ENAMETOOLONG, ENODATA, EOPNOTSUPP,
                          ENOSYS, ERANGE, EINVAL, ENXIO, EMFILE, ENOSPC, EDQUOT, EROFS}) {
    EXPECT_FALSE(copy::is_storage_error(error)) << error;
  }
}

TEST(StorageCall, IsTriedAgainAFewTimesForTheStoragesSake) {
  int calls = 0;
  const auto fail = [&calls](int error) {
    ++calls;
    errno = error;
    return -1;
  };
  EXPECT_EQ(copy::ask_source(nullptr, [&] { return fail(EHOSTDOWN); }), -1);
  EXPECT_EQ(errno, EHOSTDOWN);
  EXPECT_EQ(calls, copy::kMaxTries);
  calls = 0;
  EXPECT_EQ(copy::ask_source(nullptr, [&] { return fail(ENOENT); }), -1);
  EXPECT_EQ(calls, 1);
  calls = 0;
  EXPECT_TRUE(copy::ask_source(nullptr, [&] { return calls == 1 || fail(EIO) == 0; }));
  EXPECT_EQ(calls, 1);
}

TEST(StorageCall, ShowsTheSideThatItWaitsFor) {
  const auto waiting = std::make_unique<copy::Waiting>();
  const copy::StorageCall work(waiting.get(), CopySide::kCopy);
  copy::ask_source(waiting.get(), [&] {
    EXPECT_EQ(waiting->side, CopySide::kSource);
    return true;
  });
  EXPECT_EQ(waiting->side, CopySide::kCopy);
  EXPECT_EQ(waiting->steps, 1U);
}

}  // namespace
