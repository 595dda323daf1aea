#include "hermetic/learn/needless.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/learn/world.h"

namespace hermetic {
namespace {

TEST(NeedlessTest, NamesWhatWasNotUsedAndWhatLittleWas) {
  const Result<Spec> spec = SpecBuilder({"true"})
                                .input("/usr")
                                .input("/srv/data")
                                .input("/srv/all")
                                .output("/p/app/out")
                                .temp("/p/app/work")
                                .lookup(look_up_by_name)
                                .build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  World world;
  world.reads("/usr/bin/x").probes("/srv/data/nothing").makes("/p/app/out/y").lists("/srv/all");
  EXPECT_THAT(needless(*spec, world.seen().paths),
              ::testing::ElementsAre(Needless{"input /usr", "only this was used of it: /usr/bin"},
                                     Needless{"input /srv/data", "nothing in it was used"},
                                     Needless{"temp /p/app/work", "nothing in it was used"}));
}

Event network_event(std::string act, std::string subject, Verdict verdict, std::string rule) {
  Event event{.kind = Event::Kind::Network, .act = std::move(act), .subject = std::move(subject)};
  event.verdict = verdict;
  event.rule = std::move(rule);
  if (event.act != "socket" && event.act != "resolve")
    event.endpoint = Endpoint{"inet", "tcp", "192.0.2.1", 443, ""};
  return event;
}

TEST(NeedlessTest, NamesHostsThatNobodyReached) {
  const NetworkPolicy hosts = *NetworkPolicy::allow_hosts(
      {"used.example:443", "unused.example", "*.asked.example", "192.0.2.0/24", "198.51.100.0/24"});
  ReachCollector reached;
  const std::string where = " of network: hosts (hermetic.yaml:3)";
  reached.on_event(
      network_event("connect", "used.example:443/tcp", Verdict::Allow, "used.example:443" + where));
  reached.on_event(
      network_event("sendto", "192.0.2.1:443/udp", Verdict::Allow, "192.0.2.0/24" + where));
  reached.on_event(network_event("connect", "x", Verdict::Deny, "unused.example" + where));
  reached.on_event(network_event("resolve", "a.asked.example", Verdict::Allow, where));
  EXPECT_THAT(needless_hosts(hosts, reached),
              ::testing::UnorderedElementsAre(
                  Needless{"network unused.example", "nobody was reached by it"},
                  Needless{"network 198.51.100.0/24", "nobody was reached by it"}));
}

TEST(NeedlessTest, NamesANetworkThatNobodyUsed) {
  NetworkPolicy loopback;
  loopback.mode = NetworkPolicy::Mode::Loopback;
  ReachCollector reached;
  EXPECT_THAT(needless_hosts({}, reached), ::testing::IsEmpty()) << "nothing was allowed";
  reached.on_event(network_event("socket", "inet", Verdict::Allow, ""));
  EXPECT_THAT(needless_hosts(loopback, reached),
              ::testing::ElementsAre(
                  Needless{"network loopback", "nobody was reached, and nobody waited to be"}));
  reached.on_event(network_event("listen", "127.0.0.1:80/tcp", Verdict::Allow, ""));
  EXPECT_THAT(needless_hosts(loopback, reached), ::testing::IsEmpty());
}

TEST(NeedlessTest, NamesVariablesThatNobodyAskedFor) {
  EnvironmentDraft environment;
  environment.pass = {"CC", "UNUSED"};
  environment.set["SET"] = "1";
  EXPECT_THAT(needless_variables(environment, {"CC", "HOME"}),
              ::testing::ElementsAre(
                  Needless{"environment.pass UNUSED", "no program was heard asking for it"}));
}

}  // namespace
}  // namespace hermetic
