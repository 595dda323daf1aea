#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/base/text.h"
#include "hermetic/gate/policy.h"

namespace hermetic::gate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Policy> parse(const std::string& text) { return parse_policy(text, "p.yml", "/here"); }

TEST(PolicyReader, ReadsEveryKeyOfVersion1) {
  const Result<Policy> policy = parse(R"(schema_version: "1"
scope: {default_shell: bash -e -c}
hermetic_steps:
  - id: unit
    description: tests
    command: make test
    env: {A: "1"}
    allow: {outbound_hosts: [a.example.org, "b.example.org:80"], outbound_ports: [443, 8443], listen_ports: [8080], unix_sockets: [run/./a.sock, /run/b.sock]}
  - {id: words, command: [make, "a b"]}
diagnostics: {capture_process_tree: false, capture_open_sockets: false, max_log_bytes: 7}
output: {out_dir: "x/${sha}"}
)");
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(policy->version, 1);
  EXPECT_EQ(policy->mode, Policy::Mode::Enforce);
  EXPECT_FALSE(policy->capture_process_tree);
  EXPECT_FALSE(policy->capture_open_sockets);
  EXPECT_EQ(policy->most_log_bytes, 7U);
  EXPECT_EQ(policy->out_dir, "x/${sha}");
  EXPECT_EQ(policy->digest.size(), 64U);
  const Step& step = policy->steps.at(0);
  EXPECT_THAT(step.command, ElementsAre("bash", "-e", "-c", "make test"));
  EXPECT_EQ(step.variables.at("A"), "1");
  std::vector<std::string> hosts;
  for (const GovernedException& exception : step.exceptions)
    if (exception.host) hosts.push_back(to_string(*exception.host));
  EXPECT_THAT(hosts, ElementsAre("a.example.org:443", "a.example.org:8443", "b.example.org:80"));
  EXPECT_THAT(listen_ports_of(step), ElementsAre(8080));
  EXPECT_THAT(unix_sockets_of(step), ElementsAre("/run/b.sock", "run/a.sock"));
  EXPECT_EQ(to_string(step.origin), "p.yml:4:5");
  EXPECT_THAT(policy->find("words")->command, ElementsAre("make", "a b"));
  EXPECT_EQ(policy->find("none"), nullptr);
}

TEST(PolicyReader, PortsAloneAreThoseOfEveryHost) {
  const Result<Policy> policy = parse(R"(schema_version: "1"
hermetic_steps: [{id: a, command: x, timeout: 90s, allow: {outbound_hosts: [], outbound_ports: [443]}}]
)");
  ASSERT_TRUE(policy) << to_string(policy.error());
  const Step& step = policy->steps.at(0);
  const NetworkPolicy network = network_of(step);
  for (const char* host : {"example.org", "a.b.example.org", "192.0.2.1", "2001:db8::1"}) {
    EXPECT_TRUE(network.can_reach(host, 443)) << host;
    EXPECT_FALSE(network.can_reach(host, 80)) << host;
  }
  EXPECT_EQ(to_string(step.exceptions.at(0).origin), "p.yml:2:97");
  EXPECT_EQ(step.draft.limits.wall_time, std::chrono::seconds(90));
}

TEST(PolicyReader, ReadsWhatVersion2Adds) {
  const Result<Policy> policy = parse(R"(schema_version: "2"
mode: audit
environment: {mode: sanitize, pass: [X], deny: [Y]}
hermetic_steps:
  - {id: a, command: x}
  - id: b
    target: package
    needs: [a]
    timeout: 10m
    limits: {memory: 4G}
    environment: {mode: deny, pass: [Z]}
    allow:
      loopback: true
      exceptions:
        - {host: "m.example.org:443", owner: o, reason: r, expires: 2027-01-31}
        - {listen: 8080, owner: o, reason: r, expires: 2027-01-31}
)");
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(policy->mode, Policy::Mode::Audit);
  EXPECT_EQ(policy->steps[0].environment.mode, EnvironmentPolicy::Mode::Sanitize);
  const Step& step = policy->steps[1];
  EXPECT_EQ(step.spec_file, "/here/hermetic.yaml");
  EXPECT_EQ(step.target, "package");
  EXPECT_THAT(step.command, IsEmpty());
  EXPECT_THAT(step.needs, ElementsAre("a"));
  EXPECT_TRUE(step.loopback);
  EXPECT_EQ(step.environment.mode, EnvironmentPolicy::Mode::Deny);
  EXPECT_THAT(step.environment.pass, ElementsAre("X", "Z"));
  EXPECT_THAT(step.environment.deny, ElementsAre("Y"));
  ASSERT_EQ(step.exceptions.size(), 2U);
  EXPECT_FALSE(has_expired(step.exceptions[0], "2027-01-31"));
  EXPECT_TRUE(has_expired(step.exceptions[0], "2027-02-01"));
}

struct BadPolicy {
  const char* text;
  const char* message;
};

// Everything below the first line, which is the version.
constexpr const char* kOk = "hermetic_steps: [{id: a, command: x}]\n";

class PolicyErrors : public testing::TestWithParam<BadPolicy> {};

TEST_P(PolicyErrors, NameTheirPlaceAndARemedy) {
  const Result<Policy> policy = parse(GetParam().text);
  ASSERT_FALSE(policy) << GetParam().text;
  const Error& error = policy.error();
  EXPECT_EQ(error.kind, Error::Kind::InvalidSpec);
  EXPECT_THAT(to_string(error), HasSubstr(GetParam().message)) << GetParam().text;
  EXPECT_FALSE(error.hint.empty()) << GetParam().text;
  EXPECT_EQ(printable(error.message), error.message);
}

#define V1 "schema_version: \"1\"\n"
#define V2 "schema_version: \"2\"\n"
#define STEP2(more) V2 "hermetic_steps: [{id: a, command: x, " more "}]\n"
#define EXCEPTION(text) STEP2("allow: {exceptions: [{" text "}]}")
INSTANTIATE_TEST_SUITE_P(
    All, PolicyErrors,
    testing::Values(
        BadPolicy{"[a]", "p.yml:1:1: a policy is a mapping"}, BadPolicy{"{", "p.yml:"},
        BadPolicy{"hermetic_steps: []", "p.yml:1:1: the key 'schema_version' is missing"},
        BadPolicy{"schema_version: \"3\"", "p.yml:1:17: unknown schema_version '3'"},
        BadPolicy{V1, "p.yml:1:1: the key 'hermetic_steps' is missing"},
        BadPolicy{V1 "hermetic_steps: []", "p.yml:2:17: 'hermetic_steps' is empty"},
        BadPolicy{V1 "hermetic_steps: x", "p.yml:2:17"},
        BadPolicy{V1 "mode: audit\nhermetic_steps: [{id: a, command: x}]",
                  "p.yml:2:1: unknown key 'mode'"},
        BadPolicy{V1 "scope: {default_shell: \" \"}\nhermetic_steps: [{id: a, command: x}]",
                  "p.yml:2:24: scope.default_shell is empty"},
        BadPolicy{V1 "scope: {shell: x}\n", "p.yml:2:9: unknown key 'shell'"},
        BadPolicy{V1 "diagnostics: {max_log_bytes: 0}\n", "p.yml:2:30"},
        BadPolicy{V1 "diagnostics: {capture_process_tree: 3}\n", "p.yml:2:37"},
        BadPolicy{V1 "output: {out_dir: \"${home}\"}\n", "p.yml:2:19: output.out_dir"},
        BadPolicy{V1 "output: {out_dir: \"\"}\n", "p.yml:2:19"},
        BadPolicy{V1 "hermetic_steps: [{command: x}]", "p.yml:2:18: a step has no 'id'"},
        BadPolicy{V1 "hermetic_steps: [{id: ../a, command: x}]", "p.yml:2:23: bad id '../a'"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x}, {id: a, command: x}]", "p.yml:2:39"},
        BadPolicy{V1 "hermetic_steps: [{id: a}]", "p.yml:2:18: the step 'a' has no 'command'"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: \"\"}]", "p.yml:2:35: 'command' is empty"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: []}]", "p.yml:2:35: 'command' is empty"},
        BadPolicy{V1 "hermetic_steps: [{id: a, comand: x}]", "p.yml:2:26: unknown key 'comand'"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, env: {1A: x}}]",
                  "p.yml:2:44: bad variable name '1A'"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, env: [x]}]", "p.yml:2:43"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, allow: {outbound_ports: [0]}}]",
                  "p.yml:2:63"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, timeout: soon}]", "p.yml:2:47"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, allow: {outbound_hosts: [\"*\"]}}]",
                  "p.yml:2:63"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, allow: {listen_ports: [0]}}]",
                  "p.yml:2:61"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, allow: {listen_ports: [70000]}}]",
                  "p.yml:2:61"},
        BadPolicy{V1 "hermetic_steps: [{id: a, command: x, needs: []}]",
                  "p.yml:2:38: unknown key 'needs'"},
        BadPolicy{V2 "mode: dry\n", "p.yml:2:7"},
        BadPolicy{V2 "environment: {mode: none}\n", "p.yml:2:21"},
        BadPolicy{V2 "environment: {pass: [\"A=B\"]}\n", "p.yml:2:22: bad variable name 'A=B'"},
        BadPolicy{STEP2("needs: [b]"),
                  "p.yml:2:18: the step 'a' needs 'b', which is no step above it"},
        BadPolicy{STEP2("needs: [a]"), "which is no step above it"},
        BadPolicy{STEP2("timeout: soon"), "p.yml:2:47"},
        BadPolicy{STEP2("limits: {memry: 1}"), "p.yml:2:47: unknown key 'memry'"},
        BadPolicy{STEP2("allow: {outbound_hosts: []}"), "p.yml:2:46: unknown key 'outbound_hosts'"},
        BadPolicy{STEP2("allow: {loopback: maybe}"), "p.yml:2:56"},
        BadPolicy{EXCEPTION("owner: o"), "p.yml:2:59: an exception names either"},
        BadPolicy{EXCEPTION("host: a.example.org, listen: 1"),
                  "p.yml:2:59: an exception names either"},
        BadPolicy{EXCEPTION("unix_socket: a.sock, listen: 1"),
                  "p.yml:2:59: an exception names either"},
        BadPolicy{EXCEPTION("unix_socket: ../a, owner: o, reason: r, expires: 2027-01-01"),
                  "p.yml:2:73"},
        BadPolicy{EXCEPTION("listen: 1, reason: r, expires: 2027-01-01"),
                  "p.yml:2:59: the exception has no 'owner'"},
        BadPolicy{EXCEPTION("listen: 1, owner: o, expires: 2027-01-01"), "has no 'reason'"},
        BadPolicy{EXCEPTION("listen: 1, owner: o, reason: r"), "has no 'expires'"},
        BadPolicy{EXCEPTION("listen: 1, owner: \"\", reason: r, expires: 2027-01-01"),
                  "has no 'owner'"},
        BadPolicy{EXCEPTION("listen: 1, owner: o, reason: r, expires: TODO"),
                  "p.yml:2:101: 'TODO' is not a day"},
        BadPolicy{EXCEPTION("listen: 1, owner: o, reason: r, expires: 2027-13-01"), "is not a day"},
        BadPolicy{EXCEPTION("listen: 1, owner: o, reason: r, expires: 2027-1-1"), "is not a day"},
        BadPolicy{EXCEPTION("host: \"a b\", owner: o, reason: r, expires: 2027-01-01"),
                  "p.yml:2:66"}));
#undef EXCEPTION
#undef STEP2
#undef V2
#undef V1

TEST(PolicyReader, WhatIsLeftOutIsTheDefault) {
  const Result<Policy> policy = parse(std::string("schema_version: \"1\"\n") + kOk);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->out_dir, kUsualOutDir);
  EXPECT_THAT(policy->steps[0].command, ElementsAre("/bin/sh", "-c", "x"));
  EXPECT_EQ(network_of(policy->steps[0]).mode, NetworkPolicy::Mode::None);
}

}  // namespace
}  // namespace hermetic::gate
