#include "hermetic/gate/propose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gate/sample_step.h"

namespace hermetic::gate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NetworkAct reach(const std::string& host, std::uint16_t port, const std::string& act = "connect") {
  return {.act = act,
          .subject = host + ":" + std::to_string(port),
          .host = host,
          .port = port,
          .loopback = host == "127.0.0.1",
          .chain = {"/bin/curl x", "/bin/sh"}};
}

TEST(Propose, NamesHostsAndPortsOnce) {
  const Proposal proposal =
      propose(step_of(), {reach("example.org", 443), reach("example.org", 443),
                          reach("example.org", 0, "resolve"), reach("127.0.0.1", 8080, "listen")});
  ASSERT_EQ(proposal.exceptions.size(), 2U);
  EXPECT_EQ(proposal.exceptions[0].host, "example.org:443");
  EXPECT_EQ(proposal.exceptions[0].count, 2U);
  EXPECT_THAT(proposal.exceptions[0].programs, ElementsAre("/bin/curl x"));
  EXPECT_EQ(proposal.exceptions[1].listen, 8080);
  EXPECT_FALSE(proposal.loopback);
}

TEST(Propose, IsSilentAboutWhatIsAllowed) {
  const Step step = step_of(
      "{exceptions: [{host: 'example.org:443', owner: o, reason: r, expires: 2999-01-01}]}");
  EXPECT_TRUE(propose(step, {reach("example.org", 443)}).empty());
  EXPECT_FALSE(propose(step, {reach("example.org", 80)}).empty());
}

TEST(Propose, LoopbackNeedsNoHost) {
  const Proposal proposal =
      propose(step_of(), {reach("127.0.0.1", 5432), reach("127.0.0.1", 0, "listen")});
  EXPECT_TRUE(proposal.loopback);
  EXPECT_THAT(proposal.exceptions, IsEmpty());
}

TEST(Propose, AServiceOfTheMachineIsNotTheStepsOwnLoopback) {
  const Proposal proposal = propose(step_of(), {reach("127.0.0.1", 5432)});
  EXPECT_FALSE(proposal.loopback);
  EXPECT_THAT(proposal.exceptions, IsEmpty());
  EXPECT_THAT(proposal.remarks, ElementsAre(HasSubstr("allow the host 127.0.0.1:5432")));
}

TEST(Propose, AResolverIsNotADestination) {
  NetworkAct resolver = reach("127.0.0.53", 53);
  resolver.loopback = true;
  NetworkAct lookup = reach("example.org", 53, "resolve");
  const Proposal proposal = propose(
      step_of(), {resolver, reach("192.0.2.53", 53, "sendto"), lookup, reach("example.org", 443)});
  EXPECT_FALSE(proposal.loopback);
  EXPECT_THAT(proposal.remarks, IsEmpty());
  ASSERT_EQ(proposal.exceptions.size(), 1U);
  EXPECT_EQ(proposal.exceptions[0].host, "example.org:443");
  // Of a name that was only looked up, the port is not that of the name server.
  EXPECT_EQ(propose(step_of(), {lookup}).exceptions.at(0).host, "example.org");
  // A detector that does not see names cannot propose any.
  EXPECT_THAT(propose(step_of(), {resolver}).remarks, ElementsAre(HasSubstr("asks a name server")));
}

TEST(Propose, WarnsOfWhatIsTooWide) {
  EXPECT_THAT(shared_name_warning("bucket.s3.amazonaws.com"), HasSubstr("amazonaws.com"));
  EXPECT_EQ(shared_name_warning("notamazonaws.com"), "");
  const Proposal proposal =
      propose(step_of("{exceptions: [{host: '*.example.org', owner: o, reason: r, expires: "
                      "2999-01-01}]}"),
              {reach("x.github.io", 443), reach("192.0.2.1", 443)});
  EXPECT_THAT(proposal.remarks, ElementsAre(HasSubstr("every name below")));
  ASSERT_EQ(proposal.exceptions.size(), 2U);
  EXPECT_THAT(proposal.exceptions[0].warning, HasSubstr("address"));
  EXPECT_THAT(proposal.exceptions[1].warning, HasSubstr("github.io"));
}

TEST(Propose, WhatNoExceptionCoversIsARemark) {
  NetworkAct ring{.act = "io_uring_setup", .subject = "io_uring"};
  EXPECT_THAT(propose(step_of(), {ring}).remarks, ElementsAre(HasSubstr("no exception allows")));
  EXPECT_THAT(propose(step_of(), {reach("a\" b", 1)}).remarks,
              ElementsAre(HasSubstr("no exception can name")));
}

}  // namespace
}  // namespace hermetic::gate
