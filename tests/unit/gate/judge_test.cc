#include "hermetic/gate/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gate/sample_step.h"

namespace hermetic::gate {
namespace {

std::string exception(const std::string& what) {
  return "{exceptions: [{" + what + ", owner: o, reason: r, expires: 2999-01-01}]}";
}

NetworkAct act_of(const std::string& act, const std::string& host, std::uint16_t port) {
  return {.act = act,
          .subject = host + ":" + std::to_string(port),
          .host = host,
          .port = port,
          .loopback = host == "127.0.0.1"};
}

TEST(Judge, NothingIsAllowedByDefault) {
  const Step step = step_of("{}");
  for (const char* act :
       {"connect", "send", "sendto", "sendmsg", "sendmmsg", "resolve", "listen"}) {
    EXPECT_FALSE(allows(step, act_of(act, "example.org", 443))) << act;
    EXPECT_FALSE(allows(step, act_of(act, "127.0.0.1", 443))) << act;
  }
}

TEST(Judge, WhatReachesNobodyIsLet) {
  const Step step = step_of("{}");
  for (const char* act : {"socket", "bind", "accept"})
    EXPECT_TRUE(allows(step, act_of(act, "", 0))) << act;
  NetworkAct denied = act_of("socket", "", 0);
  denied.denied = true;
  EXPECT_FALSE(allows(step, denied));
}

TEST(Judge, ARingNeverIs) {
  EXPECT_FALSE(allows(step_of("{loopback: true}"), act_of("io_uring_setup", "", 0)));
}

TEST(Judge, LoopbackIsTheStepsOwn) {
  const Step step = step_of("{loopback: true}");
  EXPECT_TRUE(allows(step, act_of("connect", "127.0.0.1", 5432)));
  EXPECT_TRUE(allows(step, act_of("listen", "127.0.0.1", 5432)));
  EXPECT_FALSE(allows(step, act_of("connect", "192.0.2.1", 5432)));
  EXPECT_FALSE(allows(step, act_of("resolve", "example.org", 0)));
}

TEST(Judge, AStepMayReachWhatItServesBesideAListOfHosts) {
  const std::string rest = "owner: o, reason: r, expires: 2999-01-01}";
  const Step step = step_of("{exceptions: [{host: 'example.org:443', " + rest +
                            ", {listen: 8080, " + rest + "]}");
  EXPECT_TRUE(allows(step, act_of("connect", "127.0.0.1", 8080)));
  EXPECT_FALSE(allows(step, act_of("connect", "127.0.0.1", 8081)));
  EXPECT_FALSE(allows(step, act_of("connect", "192.0.2.1", 8080)));
}

TEST(Judge, AHostIsAllowedOnItsPort) {
  const Step step = step_of(exception("host: 'example.org:443'"));
  EXPECT_TRUE(allows(step, act_of("connect", "example.org", 443)));
  EXPECT_TRUE(allows(step, act_of("sendto", "example.org", 443)));
  EXPECT_FALSE(allows(step, act_of("connect", "example.org", 80)));
  EXPECT_FALSE(allows(step, act_of("connect", "sub.example.org", 443)));
  EXPECT_FALSE(allows(step, act_of("connect", "example.org.evil.net", 443)));
}

TEST(Judge, ANameIsLookedUpIfAnyOfItsPortsMayBeReached) {
  const Step step = step_of(exception("host: '*.example.org:443'"));
  EXPECT_TRUE(allows(step, act_of("resolve", "a.example.org", 0)));
  EXPECT_FALSE(allows(step, act_of("resolve", "example.net", 0)));
}

TEST(Judge, APortToListenOnIsThatPort) {
  const Step step = step_of(exception("listen: 8080"));
  EXPECT_TRUE(allows(step, act_of("listen", "127.0.0.1", 8080)));
  EXPECT_FALSE(allows(step, act_of("listen", "127.0.0.1", 8081)));
  EXPECT_TRUE(allows(step, act_of("connect", "127.0.0.1", 8080)));
  EXPECT_FALSE(allows(step, act_of("connect", "192.0.2.1", 8080)));
}

TEST(Judge, NoPolicyAllowsPackets) {
  for (const char* kind : {"inet/raw", "packet", "packet/raw", "vsock"}) {
    const NetworkAct act = {.act = "socket", .subject = kind};
    EXPECT_FALSE(allows(step_of("{loopback: true}"), act)) << kind;
  }
  EXPECT_TRUE(allows(step_of("{}"), {.act = "socket", .subject = "netlink/raw"}));
}

TEST(Judge, DatagramsAreListenedForOnAPortOfTheStepsChoice) {
  NetworkAct act = act_of("bind", "0.0.0.0", 5353);
  act.subject = "0.0.0.0:5353/udp";
  EXPECT_TRUE(is_listener(act));
  EXPECT_FALSE(allows(step_of("{}"), act));
  EXPECT_TRUE(allows(step_of(exception("listen: 5353")), act));
  EXPECT_FALSE(allows(step_of(exception("listen: 5354")), act));
  EXPECT_TRUE(allows(step_of("{loopback: true}"), act));
  act.port = 0;  // the kernel's choice
  act.subject = "0.0.0.0:0/udp";
  EXPECT_FALSE(is_listener(act));
  EXPECT_TRUE(allows(step_of("{}"), act));
}

TEST(Judge, AUnixSocketThatLeadsOutIsAllowedByName) {
  NetworkAct act = {.act = "connect", .subject = "/w/run/server.sock", .unix_socket = true};
  EXPECT_FALSE(allows(step_of("{loopback: true}"), act));
  EXPECT_TRUE(allows(step_of(exception("unix_socket: /w/run/server.sock")), act));
  EXPECT_TRUE(allows(step_of(exception("unix_socket: run/server.sock")), act));
  EXPECT_FALSE(allows(step_of(exception("unix_socket: server.soc")), act));
  EXPECT_FALSE(allows(step_of(exception("unix_socket: /run/server.sock")), act));
  const std::vector<Breach> reached = breaches_under(step_of("{}"), {act});
  ASSERT_EQ(reached.size(), 1U);
  EXPECT_EQ(reached.front().rule_id, "network-denied");
  act.act = "bind";
  const std::vector<Breach> served = breaches_under(step_of("{}"), {act});
  ASSERT_EQ(served.size(), 1U);
  EXPECT_EQ(served.front().rule_id, "listener");
}

TEST(Judge, BreachesSayWhoAndWhichLine) {
  NetworkAct act = act_of("connect", "192.0.2.1", 80);
  act.chain = {"curl", "sh"};
  act.count = 3;
  const std::vector<Breach> breaches = breaches_under(
      step_of("{}"), {act, act_of("bind", "", 0), act_of("listen", "::", 1),
                      act_of("resolve", "example.org", 0), act_of("io_uring_setup", "", 0)});
  ASSERT_EQ(breaches.size(), 4U);
  EXPECT_EQ(breaches[0], (Breach{.rule_id = "network-denied",
                                 .message = "connect to 192.0.2.1:80 is not allowed",
                                 .chain = {"curl", "sh"},
                                 .decided_by = "step a (p.yml:3:5)",
                                 .count = 3}));
  EXPECT_EQ(breaches[1].rule_id, "listener");
  EXPECT_EQ(breaches[2].rule_id, "name-lookup");
  EXPECT_EQ(breaches[3].rule_id, "socket");
}

}  // namespace
}  // namespace hermetic::gate
