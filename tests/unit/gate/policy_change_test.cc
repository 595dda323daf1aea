#include "hermetic/gate/policy_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/gate/text_diff.h"

namespace hermetic::gate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Proposal needs_host_and_port(const std::string& step) {
  return {
      .step = step,
      .origin = {},
      .loopback = false,
      .exceptions =
          {{.host = "example.org:443",
            .listen = {},
            .count = 1,
            .programs = {"/bin/curl x"},
            .warning = ""},
           {.host = "", .listen = 8080, .count = 2, .programs = {"/bin/serve"}, .warning = "w"}},
      .remarks = {}};
}

Policy policy_of(const std::string& text) {
  Result<Policy> policy = parse_policy(text, "p.yml", "/");
  EXPECT_TRUE(policy) << to_string(policy.error());
  return policy ? std::move(*policy) : Policy{};
}

std::string changed(const std::string& text, std::vector<Proposal> proposals) {
  return with_proposals(policy_of(text), proposals).value();
}

std::string completed(std::string text) {
  for (std::size_t place = 0; (place = text.find("expires: TODO")) != std::string::npos;)
    text.replace(place, 13, "expires: 2999-01-01");
  return text;
}

TEST(PolicyChange, PutsExceptionsIntoAStep) {
  EXPECT_EQ(changed("schema_version: \"2\"\nhermetic_steps:\n  - id: a\n    command: x\n",
                    {needs_host_and_port("a")}),
            "schema_version: \"2\"\nhermetic_steps:\n  - id: a\n"
            "    allow:\n"
            "      exceptions:\n"
            "        # by /bin/curl x\n"
            "        # once\n"
            "        - {host: \"example.org:443\", owner: TODO, reason: TODO, expires: TODO}\n"
            "        # by /bin/serve\n"
            "        # 2 times\n"
            "        # warning: w\n"
            "        - {listen: 8080, owner: TODO, reason: TODO, expires: TODO}\n"
            "    command: x\n");
  EXPECT_EQ(changed("schema_version: \"1\"\nhermetic_steps:\n- command: x\n  id: a",
                    {needs_host_and_port("a")}),
            "schema_version: \"1\"\nhermetic_steps:\n- command: x\n  id: a\n"
            "  allow:\n"
            "    outbound_hosts:\n"
            "      # by /bin/curl x\n"
            "      # once\n"
            "      - \"example.org:443\"\n"
            "    listen_ports:\n"
            "      # by /bin/serve\n"
            "      # 2 times\n"
            "      # warning: w\n"
            "      - 8080");
}

// Whatever the layout of the policy, it means the same afterwards, and what was proposed as well.
TEST(PolicyChange, HoldsInEveryLayout) {
  const std::vector<std::string> version_1 = {
      "hermetic_steps: [{id: a, command: x}]\n",
      "hermetic_steps: [{id: b, command: 'a } # { b'}, {id: a, command: \"x \\\" ]\", }]\n",
      "hermetic_steps:\n  - {id: a, command: x,\n     allow: {listen_ports: [7]}} # }\n",
      "hermetic_steps:\n  - id: a\n    command: x\n    allow: {}\n",
      "hermetic_steps:\n  - id: a\n    command: x\n    allow: {outbound_hosts: [], listen_ports: "
      "[]}\n",
      "hermetic_steps:\n  - id: a\n    command: x\n    allow:\n      outbound_hosts:\n      - "
      "b.example\n",
      "hermetic_steps:\n  - id: a\n    command: x\n    allow:\n      outbound_hosts: [b.example]\n "
      "     listen_ports:\n          - 9\n",
      "hermetic_steps:\n  - description: \"\xc3\xa4 }\"\n    id: a\n    command: |\n      {[\n     "
      " # x\n",
      "# c\nhermetic_steps:\n  - command: |-\n      id: a\n    id: \"a\" # the id\n",
      "{\"hermetic_steps\": [{\"id\": \"a\", \"command\": \"x\"}], \"schema_version\": \"1\"}\n"};
  for (const std::string& rest : version_1) {
    const std::string text = rest.starts_with('{') ? rest : "schema_version: \"1\"\n" + rest;
    const Policy before = policy_of(text);
    std::vector<Proposal> proposals = {needs_host_and_port("a")};
    const std::string result = with_proposals(before, proposals).value();
    EXPECT_THAT(proposals[0].remarks, IsEmpty()) << text;
    const Result<Policy> after = parse_policy(result, "p.yml", "/");
    ASSERT_TRUE(after) << to_string(after.error()) << "\n" << result;
    ASSERT_EQ(after->steps.size(), before.steps.size()) << result;
    const Step& step = *after->find("a");
    EXPECT_EQ(step.command, before.find("a")->command) << result;
    EXPECT_EQ(step.exceptions.size(), before.find("a")->exceptions.size() + 2) << result;
    EXPECT_TRUE(network_of(step).can_reach("example.org", 443)) << result;
    EXPECT_TRUE(listen_ports_of(step).contains(8080)) << result;
  }
  for (const char* rest :
       {"hermetic_steps: [{id: a, command: x, allow: {loopback: false}}]\n",
        "hermetic_steps:\n  - id: a\n    command: x\n    allow:\n      exceptions: []\n",
        "hermetic_steps:\n  - id: a\n    command: x\n    allow:\n      exceptions:\n        - "
        "listen: 7\n"
        "          owner: o\n          reason: r\n          expires: 2999-01-01\n"}) {
    const Policy before = policy_of(std::string("schema_version: \"2\"\n") + rest);
    std::vector<Proposal> proposals = {needs_host_and_port("a")};
    const std::string result = with_proposals(before, proposals).value();
    // Until somebody answers for them, no gate accepts them.
    const Result<Policy> refused = parse_policy(result, "p.yml", "/");
    ASSERT_FALSE(refused) << result;
    EXPECT_THAT(to_string(refused.error()), HasSubstr("'TODO' is not a day"));
    const Result<Policy> after = parse_policy(completed(result), "p.yml", "/");
    ASSERT_TRUE(after) << to_string(after.error()) << "\n" << result;
    EXPECT_TRUE(network_of(after->steps[0]).can_reach("example.org", 443)) << result;
    EXPECT_EQ(after->steps[0].exceptions.size(), before.steps[0].exceptions.size() + 2);
  }
}

TEST(PolicyChange, Version1HasNoWordForLoopback) {
  std::vector<Proposal> proposals = {
      {.step = "a", .origin = {}, .loopback = true, .exceptions = {}, .remarks = {}}};
  const std::string text = "schema_version: \"1\"\nhermetic_steps: [{id: a, command: x}]\n";
  EXPECT_EQ(with_proposals(policy_of(text), proposals).value(), text);
  EXPECT_THAT(proposals[0].remarks, ElementsAre(HasSubstr("version 1 has no word")));
  const std::string second = "schema_version: \"2\"\nhermetic_steps: [{id: a, command: x}]\n";
  proposals[0].remarks.clear();
  const std::string result = with_proposals(policy_of(second), proposals).value();
  EXPECT_TRUE(policy_of(result).steps[0].loopback) << result;
}

TEST(PolicyChange, SaysWhatItIsAboutAndTheRemarks) {
  Proposal proposal = needs_host_and_port("a");
  proposal.origin = {.source = "p.yml", .line = 3, .column = 5};
  proposal.remarks = {"io_uring_setup io_uring: no exception allows that"};
  const Policy policy =
      policy_of("schema_version: \"1\"\nhermetic_steps:\n  - id: a\n    command: x\n");
  EXPECT_THAT(
      as_change(policy, "ci/p.yml", {proposal}).value(),
      AllOf(HasSubstr("# step a (p.yml:3:5): io_uring_setup io_uring: no exception allows that\n"
                      "--- a/ci/p.yml\n+++ b/ci/p.yml\n@@ -1,4 +1,14 @@\n schema_version"),
            HasSubstr("\n+        - \"example.org:443\"\n")));
  EXPECT_EQ(as_change(policy, "p.yml", {}).value(), "");
}

TEST(TextDiff, HasHunksWithContext) {
  std::string before;
  for (int i = 1; i <= 20; ++i) before += std::to_string(i) + "\n";
  std::string after = before;
  after.replace(after.find("2\n"), 2, "2\nnew\n");
  after.replace(after.find("18\n"), 3, "changed\n");
  EXPECT_EQ(unified_diff("a b", before, after),
            "--- a/a b\t\n+++ b/a b\t\n@@ -1,5 +1,6 @@\n 1\n 2\n+new\n 3\n 4\n 5\n"
            "@@ -15,6 +16,6 @@\n 15\n 16\n 17\n-18\n+changed\n 19\n 20\n");
  EXPECT_EQ(unified_diff("x", "a\n", "a\n"), "");
  EXPECT_EQ(unified_diff("x", "a", "a\nb"),
            "--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
            "\\ No newline at end of file\n");
}

}  // namespace
}  // namespace hermetic::gate
