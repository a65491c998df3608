#include "envgen/ranktable/hccn.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "envgen/ranktable/ranktable.h"
#include "tests/envgen/ranktable/converted.h"

namespace envgen {
namespace {

using Addresses = std::map<int, std::string>;

Addresses conf(std::string_view text) {
  auto addresses = parse_hccn_conf(text, "hccn.conf");
  EXPECT_TRUE(addresses) << to_line(addresses.error());
  return addresses.value_or(Addresses());
}

base::Error conf_error(std::string_view text) {
  auto addresses = parse_hccn_conf(text, "hccn.conf");
  EXPECT_FALSE(addresses) << text;
  return addresses ? base::Error{} : addresses.error();
}

TEST(HccnConf, OnlyAddressLinesMatterInAnyOrder) {
  EXPECT_EQ(conf("netmask_0=255.255.0.0\naddress_10=10.0.0.10\ntls_enable_0=0\n"
                 "arp_1=-i eth0 -s 10.0.0.9 bc:1e:00:00:00:01\naddress_1=10.0.0.1\n"
                 "send_arp_status_1=1\ngateway_1=10.0.0.254\n"),
            (Addresses{{1, "10.0.0.1"}, {10, "10.0.0.10"}}));
}

TEST(HccnConf, ToleratesBlanksCommentsCarriageReturnsAndNoFinalNewline) {
  EXPECT_EQ(conf("\r\n# made by hand\r\n address_0 = 10.0.0.1 \r\n\r\naddress_1=10.0.0.2"),
            (Addresses{{0, "10.0.0.1"}, {1, "10.0.0.2"}}));
}

TEST(HccnConf, Ipv6CountsAndIpv4Wins) {
  EXPECT_EQ(
      conf("IPv6address_0=fd00::1\nIPv6netmask_0=64\nIPv6address_1=fd00::2\naddress_1=10.0.0.2"),
      (Addresses{{0, "fd00::1"}, {1, "10.0.0.2"}}));
}

TEST(HccnConf, WhatIsNoDeviceIsIgnored) {
  EXPECT_EQ(conf("address_x=1.2.3.4\naddress_=1.2.3.4\naddress_64=1.2.3.4\naddress_01=1.2.3.4\n"
                 "netaddress_0=1.2.3.4\naddress_1\ngarbage"),
            Addresses());
  EXPECT_EQ(conf(""), Addresses());
}

TEST(HccnConf, RefusesWhatIsNoAddressAndNamesTheLine) {
  base::Error error = conf_error("netmask_0=xx\naddress_3=xx.xx.xx.xx\n");
  EXPECT_EQ(to_line(error),
            "reading the device addresses: hccn.conf: line 2: found \"xx.xx.xx.xx\" as the address "
            "of device 3; write the address that hccn_tool -i 3 -ip -g prints on the host");
  for (std::string_view value :
       {"-.-.-.-", "192.168.1", "", "1.2.3.4.5", "192.1.*.6", "fd00::1", "1.2.3.4%a,b"}) {
    EXPECT_EQ(conf_error("address_0=" + std::string(value)).where, "hccn.conf: line 1") << value;
  }
  // A C string would end at the NUL.
  EXPECT_EQ(conf_error(std::string("address_0=1.2.3.4\0x", 19)).where, "hccn.conf: line 1");
  EXPECT_EQ(conf_error("IPv6address_0=10.0.0.1").where, "hccn.conf: line 1");
}

TEST(HccnConf, ADeviceHasOneAddress) {
  EXPECT_EQ(conf("address_0=10.0.0.1\naddress_0=10.0.0.1\n"), (Addresses{{0, "10.0.0.1"}}));
  EXPECT_EQ(conf_error("address_0=10.0.0.1\naddress_0=10.0.0.2\n").found,
            "\"10.0.0.2\" for device 0, which had \"10.0.0.1\" before");
}

TEST(HccnTool, FindsTheAddress) {
  EXPECT_EQ(parse_hccn_tool("ipaddr:192.168.1.3\nnetmask:255.255.255.0\n", "device 3").value_or(""),
            "192.168.1.3");
  EXPECT_EQ(parse_hccn_tool("note\r\n ipaddr: fd00::3 \r\n", "device 3").value_or(""), "fd00::3");
}

TEST(HccnTool, SaysWhatItFoundInstead) {
  EXPECT_EQ(to_line(parse_hccn_tool("", "device 3").error()),
            "reading the output of hccn_tool: device 3: found no output; run it on the host, where "
            "the driver is, and check the device's NIC");
  EXPECT_EQ(parse_hccn_tool("dsmi failed", "device 3").error().found,
            "\"dsmi failed\" and no line \"ipaddr:\"");
  EXPECT_EQ(parse_hccn_tool("ipaddr:-.-.-.-\n", "device 3").error().found,
            "\"-.-.-.-\" as the address");
}

TEST(DeviceList, SinglesRangesAndTheHalfOpenForm) {
  auto list = [](std::string_view text) {
    return parse_device_list(text, "--devices").value_or(std::vector<int>{-1});
  };
  EXPECT_EQ(list("0"), (std::vector{0}));
  EXPECT_EQ(list("0,1"), (std::vector{0, 1}));
  EXPECT_EQ(list("0-3,6"), (std::vector{0, 1, 2, 3, 6}));
  EXPECT_EQ(list(" 6 , 0 - 2 "), (std::vector{0, 1, 2, 6}));
  EXPECT_EQ(list("7,3,3,1-3"), (std::vector{1, 2, 3, 7}));
  EXPECT_EQ(list("[0,8)"), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(list("[8,16)"), (std::vector{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(list("[ 62 , 64 )"), (std::vector{62, 63}));
  EXPECT_EQ(list("0-63").size(), 64U);
}

TEST(DeviceList, RefusesTheRest) {
  for (std::string_view text :
       {"",    " ",      ",",     "0,",   ",0",    "0,,1",       "64",          "0-64",
        "-1",  "3-1",    "0-",    "-",    "1-2-3", "a",          "0x1",         "01",
        "1 2", "+1",     "[0,8]", "[0,8", "0,8)",  "[0,0)",      "[3,1)",       "[,)",
        "[0)", "[0,65)", "[)",    "[",    "all",   "4294967296", "0-4294967295"}) {
    auto devices = parse_device_list(text, "--devices");
    ASSERT_FALSE(devices) << text;
    EXPECT_EQ(devices.error().where, "--devices");
    EXPECT_FALSE(devices.error().found.empty());
  }
}

TEST(GenerateRankTable, WritesWhatHcclAccepts) {
  Addresses addresses = {{4, "192.168.1.4"}, {5, "192.168.1.5"}, {6, "192.168.1.6"}};
  EXPECT_EQ(generate_rank_table("10.0.0.1", {4, 5}, addresses), R"({
  "version": "1.0",
  "server_count": "1",
  "server_list": [
    {
      "server_id": "10.0.0.1",
      "device": [
        {
          "device_id": "4",
          "device_ip": "192.168.1.4",
          "rank_id": "0"
        },
        {
          "device_id": "5",
          "device_ip": "192.168.1.5",
          "rank_id": "1"
        }
      ],
      "host_nic_ip": "reserve"
    }
  ],
  "status": "completed"
}
)");
}

TEST(GenerateRankTable, PassesTheCheckWithAndWithoutAddresses) {
  for (const Addresses& addresses : {Addresses(), Addresses{{0, "10.0.0.1"}, {15, "10.0.0.2"}}}) {
    auto table = RankTable::parse(
        generate_rank_table("host", *parse_device_list("0-15", ""), addresses), "generated");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->check(), std::vector<Finding>());
    auto converted = convert(std::move(*table), RankOrder::kServerId);
    ASSERT_TRUE(converted);
    ASSERT_EQ(converted->nodes.size(), 1U);
    EXPECT_EQ(converted->nodes[0].devices[15].rank, 15);
    EXPECT_EQ(converted->text.contains("\"10.0.0.2\""), !addresses.empty());
  }
}

TEST(HccnSamples, AreReadOrRefusedAsTheirNamesSay) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  auto sample = [samples](const std::string& name) {
    std::ifstream file(std::string(samples) + "/hccn/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    std::string text{std::istreambuf_iterator<char>(file), {}};
    return parse_hccn_conf(text, name);
  };
  auto eight = sample("hccn8NpuConf.conf");
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->size(), 8U);
  EXPECT_EQ(eight->at(7), "127.0.0.223");
  EXPECT_EQ(sample("hixl-ipv6.conf").value(), (Addresses{{0, "121::101"}}));
  EXPECT_EQ(
      sample("llm-netmask-first.conf").value(),
      (Addresses{{0, "192.168.1.0"}, {1, "192.168.1.1"}, {2, "192.168.1.2"}, {3, "192.168.1.3"}}));
  auto placeholder = sample("hiascend-doc-placeholder.conf");
  ASSERT_FALSE(placeholder);
  EXPECT_EQ(placeholder.error().where, "hiascend-doc-placeholder.conf: line 1");
}

}  // namespace
}  // namespace envgen
