#include "hermetic/guard/host_files.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

TEST(HostFiles, ReadsHosts) {
  const HostTable table = parse_hosts(
      "127.0.0.1 localhost\n"
      "::1\tlocalhost ip6-localhost # both\n"
      "#192.0.2.9 hidden\n"
      "192.0.2.1 Mixed.Example. other\r\n"
      "192.0.2.1 other\n"
      "nonsense name\n192.0.2.3\n\n   \n"
      "192.0.2.4 bad..name b\xC3\xBC"
      "cher \\04 last");
  EXPECT_EQ(table.at("localhost"),
            (std::vector<Address>{*parse_address("127.0.0.1"), *parse_address("::1")}));
  EXPECT_EQ(table.at("ip6-localhost"), std::vector<Address>{*parse_address("::1")});
  EXPECT_EQ(table.at("mixed.example"), std::vector<Address>{*parse_address("192.0.2.1")});
  EXPECT_EQ(table.at("other"), std::vector<Address>{*parse_address("192.0.2.1")});
  EXPECT_EQ(table.at("last"), std::vector<Address>{*parse_address("192.0.2.4")});
  EXPECT_EQ(table.size(), 5U);
}

TEST(HostFiles, ReadsResolverSettings) {
  const ResolverSettings settings = parse_resolver_settings(
      "; comment\n# comment\ndomain first.test\nsearch Corp.Test lab.test. bad..x\n"
      "nameserver 192.0.2.53\nnameserver fe80::1%eth0 # why\nnameserver nonsense\n"
      "nameserver 2001:db8::53\nnameserver 192.0.2.54\n"
      "options rotate timeout:7 attempts:4 ndots:3");
  EXPECT_EQ(settings.nameservers, (std::vector<Nameserver>{{*parse_address("192.0.2.53"), ""},
                                                           {*parse_address("fe80::1"), "eth0"},
                                                           {*parse_address("2001:db8::53"), ""}}));
  EXPECT_EQ(settings.search, (std::vector<std::string>{"corp.test", "lab.test"}));
  EXPECT_EQ(settings.timeout, std::chrono::seconds(7));
  EXPECT_EQ(settings.attempts, 4U);
}

TEST(HostFiles, HasDefaultsAndBounds) {
  const ResolverSettings settings = parse_resolver_settings("");
  EXPECT_EQ(settings.nameservers, (std::vector<Nameserver>{{*parse_address("127.0.0.1"), ""}}));
  EXPECT_TRUE(settings.search.empty());
  const ResolverSettings extreme = parse_resolver_settings(
      "options timeout:999999 attempts:0 timeout:x attempts:99999999999\nnameserver\nsearch\n"
      "search a b c d e f g h");
  EXPECT_EQ(extreme.timeout, std::chrono::seconds(30));
  EXPECT_EQ(extreme.attempts, 1U);
  EXPECT_EQ(extreme.search.size(), 6U);
}

TEST(HostFiles, AFileThatIsNotThereIsEmpty) {
  EXPECT_EQ(read_host_file("/nonexistent/hosts"), "");
  EXPECT_EQ(read_host_file("/"), "");
}

}  // namespace
}  // namespace hermetic::guard
