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
  const Proposal proposal = propose(step_of(), {reach("127.0.0.1", 5432)});
  EXPECT_TRUE(proposal.loopback);
  EXPECT_THAT(proposal.exceptions, IsEmpty());
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

TEST(Propose, AsItIsNoPolicyAcceptsIt) {
  const Step step = step_of();
  const Policy policy{.file = "p.yml", .version = 2};
  const std::string change = as_change(
      policy, {propose(step, {reach("example.org", 443), reach("127.0.0.1", 80, "listen")})});
  EXPECT_THAT(
      change,
      AllOf(HasSubstr("--- p.yml\n+++ p.yml\n@@ step a (p.yml:3:5) @@\n"),
            HasSubstr("+        # by /bin/curl x\n+        # once\n+        - {host: "
                      "\"example.org:443\", owner: TODO, reason: TODO, expires: TODO}\n"),
            HasSubstr("+        - {listen: 80, owner: TODO, reason: TODO, expires: TODO}")));
  // Applied: the lines with "+", below those of the step.
  std::string text = "schema_version: \"2\"\nhermetic_steps:\n  - id: a\n    command: x\n";
  for (std::size_t begin = 0; begin < change.size();) {
    const std::size_t end = change.find('\n', begin);
    const std::string line = change.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("+ ")) text += " " + line.substr(2) + "\n";
  }
  const Result<Policy> refused = parse_policy(text, "p.yml", "/");
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("'TODO' is not a day"));
  for (std::size_t place = 0; (place = text.find("expires: TODO")) != std::string::npos;)
    text.replace(place, 13, "expires: 2999-01-01");
  const Result<Policy> accepted = parse_policy(text, "p.yml", "/");
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(accepted->steps.front().exceptions.size(), 2U);
}

}  // namespace
}  // namespace hermetic::gate
