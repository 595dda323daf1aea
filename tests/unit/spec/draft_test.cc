#include "hermetic/spec/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using std::chrono_literals::operator""s;

Declaration input(std::string path, int line) {
  return {.kind = TreeKind::Input, .path = std::move(path), .origin = {"f", line, 1}};
}

TEST(Overlay, TheStrongerValueWinsAndTheOthersStay) {
  Draft base;
  base.command = {"make"};
  base.directory = "/w";
  base.limits = {.memory_bytes = 1, .wall_time = 1s};
  base.process.allow_fork = false;
  base.identity = Identity::Root;
  Draft top;
  top.limits.memory_bytes = 2;
  top.process.allow_exec = false;
  top.identity = Identity::Builder;
  top.hostname = "h";
  const Draft result = overlay(base, top);
  EXPECT_THAT(result.command, ElementsAre("make")) << "an empty command says nothing";
  EXPECT_EQ(result.directory, "/w");
  EXPECT_EQ(result.limits, (ResourceLimits{.memory_bytes = 2, .wall_time = 1s}));
  EXPECT_EQ(result.process.allow_fork, false);
  EXPECT_EQ(result.process.allow_exec, false);
  EXPECT_EQ(result.identity, Identity::Builder);
  EXPECT_EQ(result.hostname, "h");
}

TEST(Overlay, TakesEveryValueOfTheStronger) {
  Draft top;
  top.command = {"x"};
  top.directory = "/d";
  top.network = NetworkPolicy{.mode = NetworkPolicy::Mode::Host};
  top.limits = {1, 1s, 1s, 1s, 1, 1, 1, 1, 1};
  top.process = {1, 1, 1, false, false, false};
  top.identity = Identity::Root;
  top.hostname = "h";
  top.unix_sockets = {"/run/a.sock"};
  top.on_violation = OnViolation::Kill;
  top.strict_outputs = true;
  top.allow_nested_namespaces = true;
  top.own_uptime = true;
  top.allow_unsandboxed = true;
  top.give_up = {"no-fork"};
  top.origins = {{"directory", {"f", 1, 1}}};
  const Draft result = overlay({}, top);
  EXPECT_EQ(result.command, top.command);
  EXPECT_EQ(result.directory, top.directory);
  EXPECT_EQ(result.network, top.network);
  EXPECT_EQ(result.limits, top.limits);
  EXPECT_EQ(result.process.max_children, 1U);
  EXPECT_EQ(result.process.cpus, 1U);
  EXPECT_EQ(result.process.nice, 1U);
  EXPECT_EQ(result.process.kill_on_parent_exit, false);
  EXPECT_EQ(result.process.allow_fork, false);
  EXPECT_EQ(result.process.allow_exec, false);
  EXPECT_EQ(result.identity, top.identity);
  EXPECT_EQ(result.hostname, top.hostname);
  EXPECT_EQ(result.on_violation, top.on_violation);
  EXPECT_EQ(result.strict_outputs, true);
  EXPECT_EQ(result.allow_nested_namespaces, true);
  EXPECT_EQ(result.own_uptime, true);
  EXPECT_EQ(result.unix_sockets, top.unix_sockets);
  EXPECT_EQ(result.allow_unsandboxed, true);
  EXPECT_EQ(result.give_up, top.give_up);
  EXPECT_EQ(result.origins, top.origins);
}

TEST(Overlay, DeclarationsAddUpAndReplaceThoseOfTheSamePlaceAndKind) {
  Draft base;
  base.declarations = {input("/a", 1), input("/b", 2)};
  Draft top;
  top.declarations = {input("/b/", 7), input("/c", 8), {.kind = TreeKind::Output, .path = "/a"}};
  const Draft result = overlay(base, top);
  ASSERT_THAT(result.declarations, SizeIs(4));
  EXPECT_EQ(result.declarations[0].origin.line, 1);
  EXPECT_EQ(result.declarations[1].origin.line, 7) << "/b/ is /b";
  EXPECT_EQ(result.declarations[2].path, "/c");
  EXPECT_EQ(result.declarations[3].kind, TreeKind::Output);
}

TEST(Overlay, WhatOneDraftSaysTwiceStaysSaidTwice) {
  Draft top;
  top.declarations = {input("/a", 1), input("/a", 2)};
  EXPECT_THAT(overlay({}, top).declarations, SizeIs(2)) << "build() refuses it, with both places";
}

TEST(Overlay, AVariableIsEitherSetOrPassed) {
  Draft base;
  base.environment = {.set = {{"A", "1"}, {"B", "1"}}, .pass = {"C", "D"}};
  Draft top;
  top.environment = {.set = {{"C", "2"}}, .pass = {"A"}};
  const Draft result = overlay(base, top);
  EXPECT_THAT(result.environment.set, ElementsAre(Pair("B", "1"), Pair("C", "2")));
  EXPECT_THAT(result.environment.pass, ElementsAre("A", "D"));
}

TEST(Overlay, GivenUpClausesAddUp) {
  Draft base;
  base.give_up = {"no-fork"};
  Draft top;
  top.give_up = {"no-exec"};
  EXPECT_THAT(overlay(base, top).give_up, ElementsAre("no-exec", "no-fork"));
}

}  // namespace
}  // namespace hermetic
