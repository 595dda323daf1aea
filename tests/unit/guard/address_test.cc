#include "hermetic/guard/address.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

Address parsed(std::string_view text) {
  const std::optional<Address> address = parse_address(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(Address{});
}

std::string kind_of(std::string_view text) { return std::string(why_not_public(parsed(text))); }

TEST(Address, IsReadAndPrinted) {
  for (const char* text : {"192.0.2.1", "0.0.0.0", "255.255.255.255", "::", "::1", "2001:db8::1"})
    EXPECT_EQ(address_text(parsed(text)), text);
  EXPECT_EQ(parsed("::ffff:192.0.2.1"), parsed("192.0.2.1"));
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", ":::", "[::1]",
                           "fe80::1%lo", "example", "1.2.3.4 "})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_EQ(endpoint_text(parsed("192.0.2.1"), 80), "192.0.2.1:80");
  EXPECT_EQ(endpoint_text(parsed("2001:db8::1"), 80), "[2001:db8::1]:80");
}

TEST(Address, PublicOnesHaveNoKind) {
  for (const char* text : {"1.1.1.1",         "8.8.8.8",          "9.255.255.255",
                           "11.0.0.0",        "100.63.255.255",   "100.128.0.0",
                           "126.255.255.255", "128.0.0.0",        "169.253.255.255",
                           "169.255.0.0",     "172.15.255.255",   "172.32.0.0",
                           "192.0.1.0",       "192.167.255.255",  "192.169.0.0",
                           "198.17.255.255",  "198.20.0.0",       "223.255.255.255",
                           "168.63.129.15",   "2606:4700::1111",  "2001:4860:4860::8888",
                           "3fff:ffff::1",    "64:ff9b::808:808", "2002:808:808::1"})
    EXPECT_EQ(kind_of(text), "") << text;
}

TEST(Address, OthersHaveOne) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"0.0.0.0", "this network"},
      {"0.255.255.255", "this network"},
      {"10.0.0.0", "private"},
      {"10.255.255.255", "private"},
      {"100.64.0.0", "shared"},
      {"100.127.255.255", "shared"},
      {"127.0.0.1", "loopback"},
      {"127.255.255.255", "loopback"},
      {"169.254.169.254", "metadata"},
      {"169.254.169.253", "link-local"},
      {"fd68:6572:6d65:7469::1", "synthetic"},
      {"fd68:6572:6d65:746a::1", "private"},
      {"172.16.0.0", "private"},
      {"172.31.255.255", "private"},
      {"192.168.0.0", "private"},
      {"192.168.255.255", "private"},
      {"198.18.0.0", "synthetic"},
      {"198.19.255.255", "synthetic"},
      {"224.0.0.1", "multicast"},
      {"239.255.255.255", "multicast"},
      {"240.0.0.1", "reserved"},
      {"255.255.255.255", "reserved"},
      {"168.63.129.16", "metadata"},
      {"192.0.0.192", "reserved"},
      {"::", "reserved"},
      {"::1", "loopback"},
      {"::7f00:1", "reserved"},
      {"fc00::1", "private"},
      {"fdff::1", "private"},
      {"fd00:ec2::254", "private"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"fec0::1", "reserved"},
      {"ff02::1", "multicast"},
      {"::ffff:10.0.0.1", "private"},
      {"::ffff:127.0.0.1", "loopback"},
      {"64:ff9b::10.0.0.1", "private"},
      {"64:ff9b::a9fe:a9fe", "metadata"},
      {"64:ff9b:1::1.1.1.1", "reserved"},
      {"2002:7f00:1::1", "loopback"},
      {"2002:a00:1::", "private"},
      {"2001::1", "reserved"},
      {"2001:1ff::1", "reserved"},
      {"100::1", "reserved"},
      {"5f00::1", "reserved"}};
  for (const auto& [text, kind] : cases) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(Address, NoAddressMeansThisHost) {
  EXPECT_EQ(as_destination(parsed("0.0.0.0")), parsed("127.0.0.1"));
  EXPECT_EQ(as_destination(parsed("::")), parsed("::1"));
  EXPECT_EQ(as_destination(parsed("192.0.2.1")), parsed("192.0.2.1"));
}

TEST(Address, FitsTheFamilyOfItsSocket) {
  EXPECT_EQ(socket_address(parsed("192.0.2.1"), 80).storage.ss_family, AF_INET);
  EXPECT_EQ(socket_address(parsed("192.0.2.1"), 80, AF_INET6)->storage.ss_family, AF_INET6);
  EXPECT_FALSE(socket_address(parsed("2001:db8::1"), 80, AF_INET));
}

}  // namespace
}  // namespace hermetic::guard
