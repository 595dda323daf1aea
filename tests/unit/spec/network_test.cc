#include "hermetic/spec/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string canonical(std::string_view text) {
  const Result<HostRule> rule = parse_host_rule(text);
  return rule ? to_string(*rule) : "error: " + rule.error().message;
}

bool covers_text(std::string_view outer, std::string_view inner) {
  return covers(parse_host_rule(outer).value(), parse_host_rule(inner).value());
}

NetworkPolicy allowing(const std::vector<std::string>& rules) {
  return NetworkPolicy::allow_hosts(rules).value();
}

TEST(ParseHostRule, ReadsNames) {
  EXPECT_EQ(canonical("example.org"), "example.org");
  EXPECT_EQ(canonical("EXAMPLE.Org."), "example.org");
  EXPECT_EQ(canonical("example.org:443"), "example.org:443");
  EXPECT_EQ(canonical("localhost:1"), "localhost:1");
  EXPECT_EQ(canonical("_dmarc.example.org"), "_dmarc.example.org");
  EXPECT_EQ(canonical("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(canonical("1and1.com"), "1and1.com");
  EXPECT_EQ(canonical("10.in-addr.arpa"), "10.in-addr.arpa");
  const std::string longest_label(63, 'a');
  EXPECT_EQ(canonical(longest_label), longest_label);
}

TEST(ParseHostRule, ReadsWildcards) {
  EXPECT_EQ(canonical("*.Example.org"), "*.example.org");
  EXPECT_EQ(canonical("*.example.org:443"), "*.example.org:443");
  EXPECT_EQ(canonical("*.org"), "*.org");
}

TEST(ParseHostRule, ReadsAddressesAndRanges) {
  EXPECT_EQ(canonical("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(canonical("10.0.0.1/32"), "10.0.0.1");
  EXPECT_EQ(canonical("10.0.0.1:80"), "10.0.0.1:80");
  EXPECT_EQ(canonical("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(canonical("10.0.0.0/8:443"), "10.0.0.0/8:443");
  EXPECT_EQ(canonical("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(canonical("::1"), "::1");
  EXPECT_EQ(canonical("[::1]"), "::1");
  EXPECT_EQ(canonical("[::1]:8080"), "[::1]:8080");
  EXPECT_EQ(canonical("2001:DB8:0:0::/32"), "2001:db8::/32");
  EXPECT_EQ(canonical("[2001:db8::]/32"), "2001:db8::/32");
  EXPECT_EQ(canonical("[2001:db8::]/32:443"), "[2001:db8::]/32:443");
  EXPECT_EQ(canonical("[2001:db8::/32]:443"), "[2001:db8::]/32:443");
  EXPECT_EQ(canonical("::/0"), "::/0");
}

TEST(ParseHostRule, HoldsAnIPv4AddressInOneFormOnly) {
  EXPECT_EQ(*parse_host_rule("::ffff:10.0.0.1"), *parse_host_rule("10.0.0.1"));
  EXPECT_EQ(*parse_host_rule("::ffff:a00:0/104"), *parse_host_rule("10.0.0.0/8"));
  EXPECT_EQ(parse_host_rule("10.0.0.0/8")->prefix_length, 104U);
}

struct BadNetwork {
  std::string text;
  std::string_view why;
  std::string_view hint;
};

class BadHostRule : public ::testing::TestWithParam<BadNetwork> {};

TEST_P(BadHostRule, IsRefusedWithAReasonAndARemedy) {
  const Result<HostRule> rule = parse_host_rule(GetParam().text);
  ASSERT_FALSE(rule) << to_string(*rule);
  EXPECT_EQ(rule.error().kind, Error::Kind::InvalidSpec);
  EXPECT_THAT(rule.error().message, HasSubstr(std::string(GetParam().why)));
  EXPECT_THAT(rule.error().hint, HasSubstr(std::string(GetParam().hint)));
}

INSTANTIATE_TEST_SUITE_P(
    Names, BadHostRule,
    ::testing::Values(
        BadNetwork{"", "empty host rule", "example.org"},
        BadNetwork{".", "empty label", "example.org"}, BadNetwork{"a..b", "empty label", ""},
        BadNetwork{".a", "empty label", ""}, BadNetwork{"a..", "empty label", ""},
        BadNetwork{"-a.org", "starts or ends with '-'", ""},
        BadNetwork{"a-.org", "starts or ends with '-'", ""}, BadNetwork{"a b", "space", ""},
        BadNetwork{std::string("a\0b", 3), "control character", ""},
        BadNetwork{"a\x1b[1m.org", "no host name has", ""},
        BadNetwork{"user@example.org", "no host name has", ""},
        BadNetwork{std::string(64, 'a') + ".org", "more than 63", ""},
        BadNetwork{std::string(250, 'a') + ".org", "longer than 253", ""},
        BadNetwork{"b\xC3\xBC"
                   "cher.example",
                   "not ASCII", "punycode, such as xn--"},
        BadNetwork{"https://example.org/", "is a URL", "host alone"},
        BadNetwork{"example.org/path", "has a '/'", "10.0.0.0/8"},
        BadNetwork{":443", "names no host", ""}, BadNetwork{"*", "'*'", "`network: host`"},
        BadNetwork{"*:443", "'*'", "*.example.org"}, BadNetwork{"**.org", "'*'", ""},
        BadNetwork{"*.*.org", "'*'", ""}, BadNetwork{"a.*.org", "'*'", ""},
        BadNetwork{"a*.org", "'*'", ""}, BadNetwork{"*.", "names no host", ""},
        BadNetwork{"*.10.0.0.0/8", "has a '/'", ""},
        BadNetwork{"*.0.0.1", "looks like an IPv4", ""}));

INSTANTIATE_TEST_SUITE_P(
    Addresses, BadHostRule,
    ::testing::Values(
        BadNetwork{"1.2.3", "looks like an IPv4 address", "four decimal numbers"},
        BadNetwork{"0x7f.1", "looks like an IPv4 address", ""},
        BadNetwork{"0x7f000001", "looks like an IPv4 address", ""},
        BadNetwork{"2130706433", "looks like an IPv4 address", ""},
        BadNetwork{"010.0.0.1", "looks like an IPv4 address", "leading zeros"},
        BadNetwork{"256.0.0.1", "looks like an IPv4 address", ""},
        BadNetwork{"1.2.3.4.5", "looks like an IPv4 address", ""},
        BadNetwork{"1.2.3.4.", "looks like an IPv4 address", ""},
        BadNetwork{"10.1.2.3/8", "bits set beyond", "write 10.0.0.0/8 "},
        BadNetwork{"2001:db8::1/32", "bits set beyond", "write 2001:db8::/32 "},
        BadNetwork{"10.0.0.0/33", "bad prefix length", "0 to 32"},
        BadNetwork{"10.0.0.0/", "bad prefix length", ""},
        BadNetwork{"10.0.0.0/08", "bad prefix length", ""},
        BadNetwork{"10.0.0.0/-1", "bad prefix length", ""},
        BadNetwork{"10.0.0.0/255.0.0.0", "bad prefix length", ""},
        BadNetwork{"10.0.0.0/8/8", "bad prefix length", ""},
        BadNetwork{"::/129", "bad prefix length", "0 to 128"},
        BadNetwork{"fe80::1%eth0", "no IPv6 address", "[::1]:8080"},
        BadNetwork{"1:2:3", "no IPv6 address", ""}, BadNetwork{"::1::", "no IPv6 address", ""},
        BadNetwork{"[::1", "'[' without ']'", ""}, BadNetwork{"[]", "no IPv6 address", ""},
        BadNetwork{"[::1]8080", "text after ']'", ""}, BadNetwork{"[::1]:", "bad port", ""},
        BadNetwork{"[10.0.0.1]:80", "no IPv6 address", "IPv6 addresses only"},
        BadNetwork{"[example.org]", "no IPv6 address", ""},
        BadNetwork{"[:x]", "no IPv6 address", ""}));

INSTANTIATE_TEST_SUITE_P(Ports, BadHostRule,
                         ::testing::Values(BadNetwork{"a.org:", "bad port ''", "1 to 65535"},
                                           BadNetwork{"a.org:0", "bad port '0'", ""},
                                           BadNetwork{"a.org:65536", "bad port", ""},
                                           BadNetwork{"a.org:0443", "bad port '0443'", ""},
                                           BadNetwork{"a.org:https", "bad port 'https'", ""},
                                           BadNetwork{"a.org:+1", "bad port", ""},
                                           BadNetwork{"a.org:-1", "bad port", ""},
                                           BadNetwork{"a.org:99999999999999999999", "bad port",
                                                      ""}));

TEST(Covers, LooksAtNamesWildcardsRangesAndPorts) {
  EXPECT_TRUE(covers_text("example.org", "example.org"));
  EXPECT_TRUE(covers_text("example.org", "EXAMPLE.ORG:443"));
  EXPECT_FALSE(covers_text("example.org:443", "example.org"));
  EXPECT_FALSE(covers_text("example.org:443", "example.org:80"));
  EXPECT_FALSE(covers_text("example.org", "a.example.org"));

  EXPECT_TRUE(covers_text("*.example.org", "a.example.org"));
  EXPECT_TRUE(covers_text("*.example.org", "a.b.example.org:443"));
  EXPECT_TRUE(covers_text("*.example.org", "*.b.example.org"));
  EXPECT_TRUE(covers_text("*.example.org", "*.example.org"));
  EXPECT_FALSE(covers_text("*.example.org", "example.org"));
  EXPECT_FALSE(covers_text("*.example.org", "badexample.org"));
  EXPECT_FALSE(covers_text("*.a.example.org", "*.example.org"));
  EXPECT_FALSE(covers_text("a.example.org", "*.a.example.org"));

  EXPECT_TRUE(covers_text("10.0.0.0/8", "10.1.2.3"));
  EXPECT_TRUE(covers_text("10.0.0.0/8", "10.1.0.0/16:443"));
  EXPECT_TRUE(covers_text("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_FALSE(covers_text("10.0.0.0/16", "10.0.0.0/8"));
  EXPECT_FALSE(covers_text("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(covers_text("2001:db8::/32", "2001:db8:1::1"));
  EXPECT_FALSE(covers_text("10.0.0.0/8", "example.org"));
  EXPECT_FALSE(covers_text("example.org", "10.0.0.1"));
}

TEST(Covers, KeepsTheAddressFamiliesApart) {
  EXPECT_TRUE(covers_text("::/0", "2001:db8::1"));
  EXPECT_FALSE(covers_text("::/0", "10.0.0.1"));
  EXPECT_TRUE(covers_text("0.0.0.0/0", "10.0.0.1"));
  EXPECT_FALSE(covers_text("0.0.0.0/0", "2001:db8::1"));
}

TEST(NetworkPolicy, NoneReachesNothingAndHostEverything) {
  const NetworkPolicy none = NetworkPolicy::hermetic();
  EXPECT_FALSE(none.can_reach("localhost", 80));
  EXPECT_FALSE(none.can_reach("127.0.0.1", 80));
  const NetworkPolicy host{.mode = NetworkPolicy::Mode::Host, .hosts = {}};
  EXPECT_TRUE(host.can_reach("example.org", 80));
}

TEST(NetworkPolicy, LoopbackReachesItselfOnly) {
  const NetworkPolicy loopback{.mode = NetworkPolicy::Mode::Loopback, .hosts = {}};
  for (const std::string_view host : {"localhost", "LOCALHOST.", "db.localhost", "127.0.0.1",
                                      "127.255.0.1", "::1", "[::1]", "::ffff:127.0.0.1"})
    EXPECT_TRUE(loopback.can_reach(host, 80)) << host;
  for (const std::string_view host :
       {"", "example.org", "notlocalhost", "localhost.example.org", "128.0.0.1", "::", "::2",
        "127.0.0.0/8", "*.localhost", "localhost:80", "::7f00:1"})
    EXPECT_FALSE(loopback.can_reach(host, 80)) << host;
}

TEST(NetworkPolicy, HostsReachesWhatARuleCovers) {
  const NetworkPolicy policy =
      allowing({"example.org:443", "*.example.org", "10.0.0.0/8", "[2001:db8::1]:22"});
  EXPECT_TRUE(policy.can_reach("example.org", 443));
  EXPECT_FALSE(policy.can_reach("example.org", 80));
  EXPECT_TRUE(policy.can_reach("a.example.org", 80));
  EXPECT_TRUE(policy.can_reach("10.9.8.7", 1));
  EXPECT_TRUE(policy.can_reach("::ffff:10.9.8.7", 1));
  EXPECT_TRUE(policy.can_reach("2001:db8::1", 22));
  EXPECT_FALSE(policy.can_reach("2001:db8::1", 23));
  EXPECT_FALSE(policy.can_reach("localhost", 443));
  EXPECT_FALSE(policy.can_reach("127.0.0.1", 443));
}

TEST(NetworkPolicy, ADestinationIsOneHostAndNotASetOfThem) {
  const NetworkPolicy policy = allowing({"10.0.0.0/8", "*.example.org", "a.org:80"});
  for (const std::string_view host : {"10.0.0.0/8", "10.0.0.0/32", "*.example.org", "a.org:80", ""})
    EXPECT_FALSE(policy.can_reach(host, 80)) << host;
  EXPECT_TRUE(policy.can_reach("a.org", 80));  // the control
}

TEST(NetworkPolicy, SortsItsRulesAndKeepsEachOnce) {
  const NetworkPolicy policy = allowing({"b.org", "a.org", "B.org.", "a.org:80"});
  std::vector<std::string> texts;
  for (const HostRule& rule : policy.hosts) texts.push_back(to_string(rule));
  EXPECT_THAT(texts, ElementsAre("a.org", "a.org:80", "b.org"));
  EXPECT_EQ(policy, allowing({"a.org:80", "b.org", "a.org"}));
}

TEST(NetworkPolicy, RefusesAnEmptyListAndABadRule) {
  EXPECT_EQ(NetworkPolicy::allow_hosts({}).error().hint, "write `none` for no network");
  EXPECT_THAT(NetworkPolicy::allow_hosts({"a.org", "*"}).error().message,
              HasSubstr("host rule '*'"));
}

// The properties use few labels and short prefixes, so that rules meet often.

std::string some_name() {
  std::string name = "x";
  const int labels = *rc::gen::inRange(0, 4);
  for (int label = 0; label < labels; ++label) name = *rc::gen::element("a.", "b.") + name;
  return name;
}

rc::Gen<std::optional<std::uint16_t>> few_ports() {
  return rc::gen::element<std::optional<std::uint16_t>>(std::nullopt, 80, 443);
}

HostRule some_rule() {
  HostRule rule;
  rule.kind =
      *rc::gen::element(HostRule::Kind::Name, HostRule::Kind::Wildcard, HostRule::Kind::Range);
  rule.port = *few_ports();
  if (rule.kind != HostRule::Kind::Range) {
    rule.name = some_name();
    return rule;
  }
  const bool ipv4 = *rc::gen::arbitrary<bool>();
  if (ipv4) rule.address[10] = rule.address[11] = 0xFF;
  const std::size_t first = ipv4 ? 12 : 0;
  const unsigned offset = ipv4 ? 96 : 0;
  // Only the first three bits of the address and of the prefix vary.
  const auto bits = *rc::gen::inRange<unsigned>(0, 4);
  const auto value = *rc::gen::inRange<unsigned>(0, 8);
  rule.prefix_length = *rc::gen::arbitrary<bool>() ? offset + bits : 128;
  const unsigned mask = rule.prefix_length == 128 ? 7U : (7U << (3U - bits)) & 7U;
  rule.address[first] = static_cast<std::uint8_t>((value & mask) << 5U);
  return rule;
}

TEST(HostRuleProperty, APrintedRuleReadsBackAsItself) {
  check_property(1000, []() {
    const HostRule rule = some_rule();
    const Result<HostRule> back = parse_host_rule(to_string(rule));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == rule);
  });
}

TEST(HostRuleProperty, AnyAddressReadsBackAsItself) {
  check_property(1000, [](const std::array<std::uint8_t, 16>& address) {
    const HostRule rule{.kind = HostRule::Kind::Range,
                        .name = {},
                        .address = address,
                        .prefix_length = 128,
                        .port = *few_ports()};
    RC_ASSERT(parse_host_rule(to_string(rule)).value() == rule);
  });
}

// Every destination of a small world: each address differs in three bits only.
std::vector<std::string> world() {
  std::vector<std::string> hosts = {"x", "y", "a.y"};
  for (std::size_t begin = 0, length = 1; length <= 5; ++length) {
    const std::size_t end = hosts.size();
    for (; begin < end; ++begin)
      for (const char* label : {"a.", "b."})
        if (hosts[begin].ends_with('x')) hosts.push_back(label + hosts[begin]);
  }
  for (const char* value : {"0", "32", "64", "96", "128", "160", "192", "224"}) {
    hosts.push_back(std::string(value) + ".0.0.0");
    hosts.push_back(std::string(value) + ".0.0.1");
  }
  for (const char* value : {"0", "2000", "4000", "6000", "8000", "a000", "c000", "e000"}) {
    hosts.push_back(std::string(value) + "::");
    hosts.push_back(std::string(value) + "::1");
  }
  return hosts;
}

TEST(HostRuleProperty, ARuleCoversAnotherIfItAllowsAllItsDestinations) {
  check_property(2000, []() {
    static const std::vector<std::string> kWorld = world();
    const NetworkPolicy outer{.mode = NetworkPolicy::Mode::Hosts, .hosts = {some_rule()}};
    const NetworkPolicy inner{.mode = NetworkPolicy::Mode::Hosts, .hosts = {some_rule()}};
    bool all = true;
    for (const std::string& host : kWorld)
      for (const std::uint16_t port : {std::uint16_t{80}, std::uint16_t{443}, std::uint16_t{9}})
        all = all && (!inner.can_reach(host, port) || outer.can_reach(host, port));
    const bool said = covers(outer.hosts.front(), inner.hosts.front());
    RC_ASSERT(said == all);
  });
}

TEST(HostRuleProperty, NoTextMakesTheParserCrash) {
  check_property(1000, [](const std::string& text) {
    const Result<HostRule> rule = parse_host_rule(text);
    if (rule) RC_ASSERT(parse_host_rule(to_string(*rule)).value() == *rule);
  });
}

TEST(NetworkPolicy, ListsMayNameTheirOwnLoopback) {
  EXPECT_EQ(NetworkPolicy::allow_hosts({"loopback", "a.org"}).value(),
            NetworkPolicy::allow_hosts({"a.org"}).value());
  EXPECT_EQ(NetworkPolicy::allow_hosts({"loopback"}).value(),
            NetworkPolicy{.mode = NetworkPolicy::Mode::Loopback});
}

TEST(NetworkPolicy, EveryHostIsEachNameAndEachAddress) {
  const auto rules = every_host(80);
  const NetworkPolicy policy{.mode = NetworkPolicy::Mode::Hosts,
                             .hosts = {rules.begin(), rules.end()}};
  for (const std::string& host : world()) {
    EXPECT_TRUE(policy.can_reach(host, 80)) << host;
    EXPECT_FALSE(policy.can_reach(host, 81)) << host;
  }
  EXPECT_EQ(to_string(rules[0]), "*:80");
  EXPECT_EQ(to_string(rules[1]), "0.0.0.0/0:80");
  EXPECT_EQ(to_string(rules[2]), "[::]/0:80");
  EXPECT_FALSE(parse_host_rule("*:80"));  // no spec can write it
  EXPECT_FALSE(covers(parse_host_rule("*.org").value(), every_host({})[0]));
}

}  // namespace
}  // namespace hermetic
