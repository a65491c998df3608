#include "init/sys/terminate.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>

#include "init/sys/files.h"
#include "tests/init/child.h"
#include "tests/init/end_by.h"

namespace {

using child::end_by;
using testing::HasSubstr;
using testing::StartsWith;

void say(const sys::Thrown& thrown) {
  child::say(STDOUT_FILENO, std::string(thrown.what) + (thrown.out_of_memory ? ", memory" : ""));
}

struct Case {
  const char* name;
  void (*end)() noexcept;
  const char* what;
  bool out_of_memory = false;
};

class Terminate : public testing::TestWithParam<Case> {};

TEST_P(Terminate, IsToldWhatWasThrown) {
  const auto outcome = child::run([] {
    sys::on_terminate(say);
    GetParam().end();
    return 0;
  });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.out, StartsWith(GetParam().what));
  EXPECT_EQ(outcome.out.ends_with(", memory"), GetParam().out_of_memory);
}

TEST_P(Terminate, WithoutAHandlerIsALine) {
  const auto outcome = child::run([] {
    sys::on_terminate(nullptr);
    GetParam().end();
    return 0;
  });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr(std::string("internal error: ") + GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    All, Terminate,
    testing::Values(
        Case{"Memory", []() noexcept { end_by(std::bad_alloc()); }, "std::bad_alloc", true},
        Case{"OfTheLibrary", []() noexcept { std::string("ab").at(5); }, "basic_string"},
        Case{"OfOurs", []() noexcept { end_by(std::runtime_error("no luck")); }, "no luck"},
        Case{"NoException", []() noexcept { end_by(7); }, "an exception that has no"},
        Case{"Asked", []() noexcept { std::terminate(); }, "std::terminate was"}),
    [](const auto& info) { return info.param.name; });

TEST(TerminateHandler, IsNotThatOfAForkedChild) {
  const auto outcome = child::run([] {
    sys::on_terminate(say);
    const pid_t pid = ::fork();
    if (pid == 0) end_by(std::runtime_error("no luck"));
    return child::wait_for(pid);
  });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("internal error: no luck"));
}

TEST(TerminateHandler, ThatThrowsEndsAtOnce) {
  const auto outcome = child::run([] {
    sys::on_terminate([](const sys::Thrown&) { end_by(std::runtime_error("second")); });
    end_by(std::runtime_error("first"));
    return 0;
  });
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.err, HasSubstr("internal error: second"));
}

TEST(TerminateHandler, MayEndTheProcessItself) {
  const auto outcome = child::run([] {
    sys::on_terminate([](const sys::Thrown&) { ::_exit(3); });
    end_by(std::runtime_error("no luck"));
    return 0;
  });
  EXPECT_EQ(outcome.code, 3);
}

}  // namespace
