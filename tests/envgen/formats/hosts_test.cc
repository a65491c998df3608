#include "envgen/formats/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {

// For gtest's messages.
void PrintTo(const HostPort& host, std::ostream* out) { *out << to_text(host); }

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<HostPort> hosts(std::string_view text) {
  auto list = parse_host_list(text, "HOSTS");
  if (!list) ADD_FAILURE() << text << ": " << to_line(list.error());
  return list.value_or(std::vector<HostPort>());
}

std::string refusal(std::string_view text) {
  auto list = parse_host_list(text, "HOSTS");
  EXPECT_FALSE(list.has_value()) << text;
  return list ? "" : to_line(list.error());
}

TEST(Hosts, AHostHasAnOptionalPort) {
  EXPECT_EQ(parse_host_port("worker-0.job"), (HostPort{"worker-0.job", 0}));
  EXPECT_EQ(parse_host_port("worker-0.job:2222"), (HostPort{"worker-0.job", 2222}));
  EXPECT_EQ(parse_host_port("10.0.0.7:65535"), (HostPort{"10.0.0.7", 65535}));
  EXPECT_EQ(parse_host_port("a_b"), (HostPort{"a_b", 0}));
}

TEST(Hosts, AnIpv6AddressNeedsBracketsOnlyWithAPort) {
  EXPECT_EQ(parse_host_port("fd00::2"), (HostPort{"fd00::2", 0}));
  EXPECT_EQ(parse_host_port("::1"), (HostPort{"::1", 0}));
  EXPECT_EQ(parse_host_port("[fd00::2]"), (HostPort{"fd00::2", 0}));
  EXPECT_EQ(parse_host_port("[fd00::2]:2222"), (HostPort{"fd00::2", 2222}));
  EXPECT_EQ(parse_host_port("fe80::1%eth0"), (HostPort{"fe80::1%eth0", 0}));
}

TEST(Hosts, WhatCannotBeAHostIsNone) {
  for (const char* text :
       {"", ":2222", "a:", "a:0", "a:65536", "a:22x", "a:-1", "a b", "a,b", "http://a", "[fd00::2",
        "[fd00::2]2222", "[fd00::2]:", "[a]:1", "-a", "$HOST", "a:1:2", "user@a"}) {
    EXPECT_EQ(parse_host_port(text), std::nullopt) << text;
  }
}

TEST(Hosts, TheTextFormIsReadBack) {
  for (const HostPort& host :
       {HostPort{"a", 0}, HostPort{"a", 1}, HostPort{"fd00::2", 0}, HostPort{"fd00::2", 2222}}) {
    EXPECT_EQ(parse_host_port(to_text(host)), host);
  }
  EXPECT_EQ(to_text({"fd00::2", 2222}), "[fd00::2]:2222");
}

TEST(Hosts, AListIsSeparatedByCommasBlanksOrLines) {
  const std::vector<HostPort> both = {{"a", 1}, {"b", 2}};
  for (const char* text :
       {"a:1,b:2", "a:1, b:2", "a:1 b:2", "a:1\nb:2\n", "a:1\r\nb:2\r\n", "[a:1,b:2]",
        " [ a:1 , b:2 ] ", "\"a:1\",\"b:2\"", "['a:1', 'b:2']", "\"[a:1,b:2]\"", "a:1\",\"b:2"}) {
    EXPECT_EQ(hosts(text), both) << text;
  }
  EXPECT_THAT(hosts("a"), ElementsAre(HostPort{"a", 0}));
}

TEST(Hosts, BracketsOfAListAndOfAnAddressAreToldApart) {
  const std::vector<HostPort> both = {{"fd00::1", 1}, {"fd00::2", 2}};
  EXPECT_EQ(hosts("[fd00::1]:1,[fd00::2]:2"), both);
  EXPECT_EQ(hosts("[[fd00::1]:1,[fd00::2]:2]"), both);
  EXPECT_THAT(hosts("[fd00::1],[fd00::2]"),
              ElementsAre(HostPort{"fd00::1", 0}, HostPort{"fd00::2", 0}));
  EXPECT_THAT(hosts("[fd00::1]"), ElementsAre(HostPort{"fd00::1", 0}));
  EXPECT_THAT(hosts("[fd00::1,fd00::2]"),
              ElementsAre(HostPort{"fd00::1", 0}, HostPort{"fd00::2", 0}));
}

TEST(Hosts, AHostStandsOnceUnlessItsPortsDiffer) {
  EXPECT_THAT(hosts("a:1,a:2"), ElementsAre(HostPort{"a", 1}, HostPort{"a", 2}));
  EXPECT_THAT(refusal("a:1,b:1,a:1"), AllOf(HasSubstr("HOSTS"), HasSubstr("a:1 twice")));
  EXPECT_THAT(refusal("a,a"), HasSubstr("a twice"));
}

TEST(Hosts, AHoleIsRefusedBecauseItWouldShiftTheNodesBehindIt) {
  EXPECT_THAT(refusal("a,,b"), HasSubstr("nothing at place 2"));
  EXPECT_THAT(refusal("a,b,"), HasSubstr("nothing at place 3"));
  EXPECT_THAT(refusal(",a"), HasSubstr("nothing at place 1"));
  EXPECT_THAT(refusal(","), HasSubstr("nothing at place 1"));
  for (const char* text : {"", " \n", "[]", "[ ]"})
    EXPECT_THAT(refusal(text), HasSubstr("no host"));
}

TEST(Hosts, WhatIsNoHostIsNamedWithItsPlace) {
  EXPECT_THAT(refusal("a:1,b:x"), AllOf(HasSubstr("\"b:x\" at place 2"), HasSubstr("host:port")));
  EXPECT_THAT(refusal("[a:1,b:2"), HasSubstr("\"[a:1\" at place 1"));
}

std::string place_error(std::string_view list, std::size_t index,
                        const std::vector<std::string>& own) {
  auto status = check_own_place(hosts(list), index, own, "HOSTS");
  return status ? "" : to_line(status.error());
}

TEST(Hosts, AnotherNodeAtTheOwnPlaceIsRefused) {
  EXPECT_EQ(place_error("w-0.job,w-1.job", 1, {"", "w-1"}), "");
  EXPECT_EQ(place_error("10.0.0.1,10.0.0.2", 0, {"w-0", "10.0.0.1"}), "");
  EXPECT_THAT(place_error("w-0.job,w-1.job", 0, {"w-1"}),
              AllOf(HasSubstr("place 0 of HOSTS"), HasSubstr("w-1.job at place 1")));
  EXPECT_THAT(place_error("10.0.0.1,10.0.0.2", 1, {"w-1", "10.0.0.1"}), HasSubstr("at place 0"));
}

TEST(Hosts, AListWithoutThisNodeIsRefusedWhenItsNamesCountLikeIt) {
  EXPECT_THAT(place_error("w-0,w-2", 1, {"w-1.job.svc"}), HasSubstr("nowhere w-1.job.svc"));
  EXPECT_EQ(place_error("node-a,node-b", 1, {"w-1"}), "");
  EXPECT_EQ(place_error("10.0.0.1,10.0.0.2", 1, {"w-1", "10.9.0.2"}), "");
  EXPECT_EQ(place_error("a,b", 1, {""}), "");
}

}  // namespace
}  // namespace envgen
