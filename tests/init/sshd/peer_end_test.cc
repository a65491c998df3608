// `trainit peer end` beside a link, with an ssh client that writes down whom it calls.

#include <gmock/gmock.h>

#include "init/sshd/end.h"
#include "tests/init/child.h"

namespace {

using testing::HasSubstr;

class PeerEnd : public child::Scratch {
 protected:
  // The host stands before the last word.
  void ssh_that_ends_with(int code) const {
    write("ssh",
          "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\necho $1 >>" + path("called") +
              "\necho no route\nexit " + std::to_string(code) + "\n",
          0755);
  }
  [[nodiscard]] child::Outcome end(const std::string& hosts,
                                   std::function<sshd::LinkedHosts()> ask_link) const {
    const sshd::EndOptions options{.directory = path("ssh"),
                                   .hosts_file = write("hosts", hosts),
                                   .port = 22,
                                   .key = "",
                                   .exit_code = 3,
                                   .ask_link = std::move(ask_link)};
    const base::Environ env({"PATH=" + path("") + ":/usr/bin:/bin"});
    return child::run([&] {
      const auto told = sshd::end(options, env);
      if (!told) std::fputs(to_line(told.error()).c_str(), stderr);
      return told ? 0 : 1;
    });
  }
  [[nodiscard]] std::string called() const { return read(path("called")); }
};

TEST_F(PeerEnd, CallsThoseAloneWhoDoNotHearByTheLink) {
  ssh_that_ends_with(0);
  const auto outcome = end("a\nb\nc\n", [] { return sshd::LinkedHosts{{"a", "c"}, {}}; });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(called(), "b\n");
}

// By the link: it has said farewell since.
TEST_F(PeerEnd, OneThatHasEndedWhenTheCallComesIsNoError) {
  ssh_that_ends_with(255);
  int asked = 0;
  const auto outcome = end("a\n", [&asked] {
    return ++asked == 1 ? sshd::LinkedHosts{} : sshd::LinkedHosts{{"a"}, {}};
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(called(), "a\n");
}

TEST_F(PeerEnd, OneThatTheLinkHasLostIsCalledOnce) {
  ssh_that_ends_with(255);
  const auto outcome = end("a\n", [] { return sshd::LinkedHosts{{}, {"a"}}; });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a: found 1 of 1 that could not be told (a: no route)"));
  EXPECT_EQ(called(), "a\n");
}

}  // namespace
