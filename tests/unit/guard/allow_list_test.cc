#include "hermetic/guard/allow_list.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

NetworkPolicy policy_of(const std::vector<std::string>& rules) {
  Result<NetworkPolicy> policy = NetworkPolicy::allow_hosts(rules);
  EXPECT_TRUE(policy);
  return *policy;
}

std::string by_name(const NetworkPolicy& policy, std::string_view name,
                    std::optional<std::uint16_t> port = {}) {
  const HostRule* rule = rule_for_name(policy, name, port);
  return rule == nullptr ? "" : to_string(*rule);
}

std::string by_address(const NetworkPolicy& policy, std::string_view address,
                       std::optional<std::uint16_t> port = 80) {
  const HostRule* rule = rule_for_address(policy, *parse_address(address), port);
  return rule == nullptr ? "" : to_string(*rule);
}

TEST(AllowList, FindsTheRuleForAName) {
  const NetworkPolicy policy = policy_of({"example.org:443", "*.wild.test", "10.0.0.0/8"});
  EXPECT_EQ(by_name(policy, "example.org"), "example.org:443");
  EXPECT_EQ(by_name(policy, "example.org", 443), "example.org:443");
  EXPECT_EQ(by_name(policy, "example.org", 80), "");
  EXPECT_EQ(by_name(policy, "a.wild.test", 1), "*.wild.test");
  EXPECT_EQ(by_name(policy, "a.b.wild.test", 1), "*.wild.test");
  EXPECT_EQ(by_name(policy, "wild.test"), "");
  EXPECT_EQ(by_name(policy, "notwild.test"), "");
  EXPECT_EQ(by_name(policy, "example.org.evil.test"), "");
  EXPECT_EQ(by_name(policy, ""), "");
  EXPECT_EQ(by_name(policy, "10.0.0.1"), "");
}

TEST(AllowList, AgreesWithThePolicyAboutNames) {
  const NetworkPolicy policy = policy_of({"example.org:443", "*.wild.test", "other.test"});
  for (const char* name : {"example.org", "wild.test", "a.wild.test", "other.test", "b.other.test"})
    for (const std::uint16_t port : std::vector<std::uint16_t>{80, 443})
      EXPECT_EQ(!by_name(policy, name, port).empty(), policy.can_reach(name, port)) << name << port;
}

TEST(AllowList, FindsTheRuleForAnAddress) {
  const NetworkPolicy policy = policy_of({"192.0.2.0/24:80", "[2001:db8::]/32", "a.test"});
  EXPECT_EQ(by_address(policy, "192.0.2.7"), "192.0.2.0/24:80");
  EXPECT_EQ(by_address(policy, "::ffff:192.0.2.7"), "192.0.2.0/24:80");
  EXPECT_EQ(by_address(policy, "192.0.2.7", 81), "");
  EXPECT_EQ(by_address(policy, "192.0.2.7", {}), "192.0.2.0/24:80");
  EXPECT_EQ(by_address(policy, "192.0.3.7"), "");
  EXPECT_EQ(by_address(policy, "2001:db8::7", 9), "2001:db8::/32");
}

TEST(AllowList, EverythingIsNeitherLoopbackNorSynthetic) {
  const NetworkPolicy all = policy_of({"0.0.0.0/0", "::/0"});
  EXPECT_NE(by_address(all, "1.1.1.1"), "");
  EXPECT_NE(by_address(all, "10.0.0.1"), "");
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "198.18.0.1", "198.19.0.1"})
    EXPECT_EQ(by_address(all, text), "") << text;
  const NetworkPolicy loopback = policy_of({"127.0.0.1:5432", "[::1]:5432"});
  EXPECT_EQ(by_address(loopback, "127.0.0.1", 5432), "127.0.0.1:5432");
  EXPECT_EQ(by_address(loopback, "::1", 5432), "[::1]:5432");
  EXPECT_EQ(by_address(loopback, "127.0.0.1", 5433), "");
  EXPECT_EQ(by_address(loopback, "127.0.0.2", 5432), "");
}

TEST(AllowList, OnlyAListOfHostsAllows) {
  NetworkPolicy policy = policy_of({"0.0.0.0/0", "a.test"});
  policy.mode = NetworkPolicy::Mode::None;
  EXPECT_EQ(by_address(policy, "1.1.1.1"), "");
  EXPECT_EQ(by_name(policy, "a.test"), "");
}

TEST(AllowList, UsableAreThePublicAndTheNamed) {
  const std::vector<Address> addresses = {*parse_address("10.0.0.1"), *parse_address("192.0.2.1"),
                                          *parse_address("::1")};
  const UsableAddresses some = usable_addresses(policy_of({"a.test"}), addresses, 80);
  EXPECT_EQ(some.usable, std::vector<Address>{addresses[1]});
  EXPECT_EQ(some.refused, "10.0.0.1 is private");
  const NetworkPolicy named = policy_of({"a.test", "10.0.0.0/8:80", "::1"});
  EXPECT_EQ(usable_addresses(named, addresses, 80).usable, addresses);
  EXPECT_EQ(usable_addresses(named, addresses, {}).usable, addresses);
  EXPECT_EQ(usable_addresses(named, addresses, 81).usable.size(), 2U);
}

// connect(2) takes them for loopback, which is the host's where a name is dialled.
TEST(AllowList, AnUnspecifiedAddressIsLoopback) {
  const std::vector<Address> nowhere = {*parse_address("0.0.0.0"), *parse_address("::"),
                                        *parse_address("::ffff:0.0.0.0")};
  const UsableAddresses all =
      usable_addresses(policy_of({"a.test", "0.0.0.0/0", "::/0"}), nowhere, 80);
  EXPECT_TRUE(all.usable.empty());
  EXPECT_EQ(all.refused, "127.0.0.1 is loopback");
  const NetworkPolicy policy = policy_of({"0.0.0.0/0", "::/0"});
  EXPECT_EQ(by_address(policy, "0.0.0.0"), "");
  EXPECT_EQ(by_address(policy, "::"), "");
}

}  // namespace
}  // namespace hermetic::guard
