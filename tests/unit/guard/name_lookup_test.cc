#include "hermetic/guard/name_lookup.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

DnsRecord address_record(const std::string& name, std::uint8_t last, std::uint32_t time_to_live) {
  return {.name = name, .time_to_live = time_to_live, .data = {192, 0, 2, last}, .alias = {}};
}
DnsRecord alias_record(const std::string& name, const std::string& other) {
  return {.name = name, .type = kTypeAlias, .time_to_live = 20, .data = {}, .alias = other};
}

std::vector<std::string> addresses_of(const std::vector<DnsRecord>& answers,
                                      std::uint32_t* time_to_live = nullptr) {
  DnsMessage message;
  message.answers = answers;
  std::uint32_t smallest = 60;
  std::vector<std::string> texts;
  for (const Address& address : addresses_in(message, "Start.test", kTypeA, smallest))
    texts.push_back(address_text(address));
  if (time_to_live != nullptr) *time_to_live = smallest;
  return texts;
}

using Texts = std::vector<std::string>;

TEST(NameLookup, TakesTheAddressesOfTheNameOnly) {
  std::uint32_t time_to_live = 0;
  EXPECT_EQ(addresses_of({address_record("start.TEST", 1, 30), address_record("other.test", 2, 1),
                          address_record("start.test", 3, 40)},
                         &time_to_live),
            (Texts{"192.0.2.1", "192.0.2.3"}));
  EXPECT_EQ(time_to_live, 30U);
  EXPECT_EQ(addresses_of({}), Texts{});
}

TEST(NameLookup, FollowsAliasesInAnyOrder) {
  std::uint32_t time_to_live = 0;
  EXPECT_EQ(addresses_of({address_record("c.test", 1, 30), alias_record("b.test", "C.test"),
                          alias_record("start.test", "b.test")},
                         &time_to_live),
            Texts{"192.0.2.1"});
  EXPECT_EQ(time_to_live, 20U);
}

TEST(NameLookup, AliasesThatLeadNowhereEnd) {
  EXPECT_EQ(addresses_of({alias_record("start.test", "start.test")}), Texts{});
  EXPECT_EQ(addresses_of({alias_record("start.test", "a.test"),
                          alias_record("a.test", "start.test"), address_record("b.test", 1, 1)}),
            Texts{});
  std::vector<DnsRecord> chain = {alias_record("start.test", "0.test")};
  for (int i = 0; i < 30; ++i)
    chain.push_back(alias_record(std::to_string(i) + ".test", std::to_string(i + 1) + ".test"));
  chain.push_back(address_record("30.test", 1, 1));
  EXPECT_EQ(addresses_of(chain), Texts{});
}

TEST(NameLookup, RecordsOfTheWrongShapeAreLeftOut) {
  DnsRecord longer = address_record("start.test", 1, 1);
  longer.data.push_back(0);
  DnsRecord six = address_record("start.test", 2, 1);
  six.type = kTypeAaaa;
  DnsRecord chaos = address_record("start.test", 3, 1);
  chaos.record_class = 3;
  EXPECT_EQ(addresses_of({longer, six, chaos}), Texts{});
  EXPECT_EQ(addresses_of(std::vector<DnsRecord>(100, address_record("start.test", 1, 1))).size(),
            32U);
}

TEST(NameLookup, KnowsTheHostsFileAndRefusesNonsense) {
  const auto poller = Poller::make();
  ASSERT_TRUE(poller);
  NameLookup lookup(**poller, parse_hosts("2001:db8::1 two\n192.0.2.1 two"), {});
  LookupAnswer answer;
  const auto find = [&](const std::string& name) {
    answer = {};
    lookup.find(name, [&](const LookupAnswer& found) { answer = found; });
    return answer.status;
  };
  EXPECT_EQ(find("two"), LookupAnswer::Status::Found);
  EXPECT_EQ(answer.addresses,
            (std::vector<Address>{*parse_address("192.0.2.1"), *parse_address("2001:db8::1")}));
  EXPECT_EQ(find(""), LookupAnswer::Status::NoSuchName);
  EXPECT_EQ(find(std::string(64, 'a')), LookupAnswer::Status::NoSuchName);
  EXPECT_FALSE(lookup.due());
}

}  // namespace
}  // namespace hermetic::guard
