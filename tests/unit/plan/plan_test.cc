#include "hermetic/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "hermetic/plan/model.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using std::chrono_literals::operator""s;

SpecBuilder usual() {
  SpecBuilder builder({"make"});
  builder.input("/usr").output("/w/out").caller_environment({}).lookup(look_up_by_name);
  return builder;
}

Spec built(const SpecBuilder& builder) { return builder.build().value(); }

Capabilities without(Clause clause, Capability capability = {}) {
  Capabilities capabilities = model_capabilities();
  capabilities.clauses[clause] = std::move(capability);
  return capabilities;
}

const PlannedClause& planned(const Plan& plan, Clause clause) {
  const auto found =
      std::find_if(plan.clauses.begin(), plan.clauses.end(),
                   [&](const PlannedClause& entry) { return entry.clause == clause; });
  EXPECT_NE(found, plan.clauses.end()) << to_string(clause);
  return *found;
}

// Which rule has decided, and on which line it stands.
TEST(MakePlan, CallsEachRuleByItsLine) {
  const Draft draft = parse_project(
                          "version: 1\nnetwork:\n  - web.example.org:7\n"
                          "  - \"*.example.net\"\n  - loopback\n  - 192.0.2.0/24\n",
                          "h.yaml", "/w")
                          .value()
                          .defaults;
  const Plan plan = make_plan(built(usual().overlay(draft)), model_capabilities()).value();
  EXPECT_EQ(plan.rule_called(""), "network: hosts (h.yaml:3:3)");
  EXPECT_EQ(plan.rule_called("web.example.org:7"),
            "web.example.org:7 of network: hosts (h.yaml:3:5)");
  EXPECT_EQ(plan.rule_called("*.example.net"), "*.example.net of network: hosts (h.yaml:4:5)");
  EXPECT_EQ(plan.rule_called("192.0.2.0/24"), "192.0.2.0/24 of network: hosts (h.yaml:6:5)");
  EXPECT_EQ(plan.rule_called("resolver"), "resolver of network: hosts (h.yaml:3:3)");

  // A list that replaces that of the file, with one of the same rules.
  Draft options;
  options.network = NetworkPolicy::allow_hosts({"192.0.2.0/24"}).value();
  options.origins["network"] = {.source = "--allow-host"};
  const Plan replaced =
      make_plan(built(usual().overlay(draft).overlay(options)), model_capabilities()).value();
  EXPECT_EQ(replaced.rule_called("192.0.2.0/24"), "192.0.2.0/24 of network: hosts (--allow-host)");
}

TEST(MakePlan, CarriesWhatTheSpecSays) {
  Draft draft;
  draft.strict_outputs = true;
  draft.allow_nested_namespaces = true;
  draft.own_uptime = true;
  const Spec spec = built(usual()
                              .directory("/w")
                              .env("A", "1")
                              .limits({.wall_time = 5s})
                              .process({.max_children = 3})
                              .identity(Identity::Root)
                              .hostname("h")
                              .on_violation(OnViolation::Kill)
                              .overlay(draft));
  const Plan plan = make_plan(spec, model_capabilities()).value();
  EXPECT_EQ(plan.backend, "model");
  EXPECT_EQ(plan.spec_digest, spec.digest());
  EXPECT_THAT(plan.command, ElementsAre("make"));
  EXPECT_EQ(plan.directory, "/w");
  EXPECT_EQ(plan.environment, spec.variables());
  EXPECT_EQ(plan.limits, spec.limits);
  EXPECT_EQ(plan.process, spec.process);
  EXPECT_EQ(plan.identity, Identity::Root);
  EXPECT_EQ(plan.hostname, "h");
  EXPECT_EQ(plan.on_violation, OnViolation::Kill);
  EXPECT_TRUE(plan.strict_outputs);
  EXPECT_TRUE(plan.allow_nested_namespaces);
  EXPECT_TRUE(plan.own_uptime);
  EXPECT_EQ(plan.view, view_of(spec));
}

TEST(MakePlan, IsAFunctionOfItsArguments) {
  const Plan plan = make_plan(built(usual()), model_capabilities()).value();
  EXPECT_EQ(make_plan(built(usual()), model_capabilities()).value(), plan);
  EXPECT_FALSE(make_plan(built(usual().env("A", "1")), model_capabilities()).value() == plan);
}

TEST(MakePlan, PublishesOutputsButForThoseChangedInPlace) {
  const Declaration merged{
      .kind = TreeKind::Output, .path = "/m", .exceptions = {"/m/keep"}, .publish = Publish::Merge};
  const Plan plan =
      make_plan(built(usual().declare(merged).output("/p", Publish::InPlace)), model_capabilities())
          .value();
  EXPECT_THAT(plan.publications, ElementsAre(Publication{.path = "/w/out", .destination = "/w/out"},
                                             Publication{.path = "/m",
                                                         .destination = "/m",
                                                         .publish = Publish::Merge,
                                                         .exceptions = {"/m/keep"}}));
}

TEST(ClausesNeeded, FollowFromTheSpec) {
  const auto needs = [](const SpecBuilder& builder) { return clauses_needed_by(built(builder)); };
  EXPECT_THAT(needs(usual()),
              AllOf(Contains(Clause::InputsReadOnly), Contains(Clause::NoNetwork),
                    Contains(Clause::KillOnParentExit), Contains(Clause::NoNestedNamespaces)));
  EXPECT_THAT(needs(usual().own_uptime()), Contains(Clause::OwnUptime));
  EXPECT_THAT(needs(usual()), Not(Contains(Clause::LayersUnchanged)));
  EXPECT_THAT(needs(usual().temp_over("/layered", {"/low"})), Contains(Clause::LayersUnchanged));
  EXPECT_THAT(needs(usual()),
              AllOf(Not(Contains(Clause::OwnUptime)), Not(Contains(Clause::MemoryLimit)),
                    Not(Contains(Clause::NoFork)), Not(Contains(Clause::OutputsWriteOnly))));
  using Mode = NetworkPolicy::Mode;
  EXPECT_THAT(needs(usual().network({.mode = Mode::Loopback})),
              AllOf(Contains(Clause::LoopbackOnly), Not(Contains(Clause::NoNetwork))));
  EXPECT_THAT(needs(usual().network(NetworkPolicy::allow_hosts({"a.org"}).value())),
              Contains(Clause::AllowedHostsOnly));
  EXPECT_THAT(needs(usual().network({.mode = Mode::Host})),
              AllOf(Not(Contains(Clause::NoNetwork)), Not(Contains(Clause::AllowedHostsOnly))));
  EXPECT_THAT(needs(usual().limits({1, 1s, 1s, 1s, 1, 1, 1, 1, 1, 1, 1, 1})),
              AllOf(Contains(Clause::MemoryLimit), Contains(Clause::CpuTimeLimit),
                    Contains(Clause::WallTimeLimit), Contains(Clause::IdleTimeLimit),
                    Contains(Clause::ProcessesLimit), Contains(Clause::FileSizeLimit),
                    Contains(Clause::OpenFilesLimit), Contains(Clause::DiskWriteLimit),
                    Contains(Clause::DiskReadRate), Contains(Clause::DiskWriteRate),
                    Contains(Clause::NetworkBytesLimit), Contains(Clause::CpuWeight)));
  EXPECT_THAT(
      needs(usual().process({1, 1, 1, false, false, false})),
      AllOf(Contains(Clause::MaxChildren), Contains(Clause::CpuCount), Contains(Clause::NoFork),
            Contains(Clause::NoExec), Not(Contains(Clause::KillOnParentExit))));
}

// Every clause there is, except that of the three networks only one can be needed at a time.
TEST(ClausesNeeded, NoClauseIsForgotten) {
  Draft draft;
  draft.strict_outputs = true;
  draft.own_uptime = true;
  const Spec spec = built(usual()
                              .temp_over("/layered", {"/low"})
                              .limits({1, 1s, 1s, 1s, 1, 1, 1, 1, 1, 1, 1, 1})
                              .process({1, 1, 1, true, false, false})
                              .overlay(draft));
  EXPECT_EQ(clauses_needed_by(spec).size() + 2, all_clauses().size());
}

TEST(MakePlan, RefusesAPolicyForViolationsThatNobodyRecords) {
  Capabilities blind = model_capabilities();
  blind.clauses.erase(Clause::NetworkWatched);
  for (const OnViolation policy : {OnViolation::Fail, OnViolation::Kill}) {
    const Result<Plan> plan = make_plan(built(usual().on_violation(policy)), blind);
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, Error::Kind::Unsupported);
    EXPECT_TRUE(make_plan(built(usual().on_violation(policy)), model_capabilities()).has_value());
  }
  EXPECT_TRUE(make_plan(built(usual()), blind).has_value());
}

TEST(MakePlan, RefusesEachClauseThatIsNeededAndMissing) {
  Draft draft;
  draft.strict_outputs = true;
  const Spec spec = built(usual()
                              .limits({1, 1s, 1s, 1s, 1, 1, 1, 1, 1, 1, 1, 1})
                              .process({1, 1, 1, true, false, false})
                              .overlay(draft));
  for (const Clause clause : clauses_needed_by(spec)) {
    Capabilities capabilities = model_capabilities();
    capabilities.clauses.erase(clause);
    const Result<Plan> plan = make_plan(spec, capabilities);
    if (clause == Clause::SecondLine || clause == Clause::NetworkWatched) {
      EXPECT_TRUE(plan) << "it only strengthens others";
      continue;
    }
    ASSERT_FALSE(plan) << to_string(clause);
    EXPECT_EQ(plan.error().kind, Error::Kind::Unsupported);
    EXPECT_THAT(plan.error().message, HasSubstr(std::string(to_string(clause)) + " is absent"));
  }
}

TEST(MakePlan, NamesAllThatIsMissingAtOnceWithEveryRemedy) {
  Capabilities capabilities =
      without(Clause::NoNetwork, {.reason = "no network namespaces", .remedy = "sysctl net=1"});
  capabilities.clauses[Clause::MemoryLimit] = {
      .strength = Strength::Observed, .reason = "no cgroup", .remedy = "delegate a cgroup"};
  const Result<Plan> plan = make_plan(built(usual().limits({.memory_bytes = 1})), capabilities);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, AllOf(HasSubstr("backend 'model'"),
                                          HasSubstr("no-network is absent: no network namespaces"),
                                          HasSubstr("memory-limit is observed: no cgroup")));
  EXPECT_EQ(plan.error().hint,
            "sysctl net=1; delegate a cgroup; or do without: --give-up no-network --give-up "
            "memory-limit");
}

TEST(MakePlan, NetworkBytesAreLimitedWhereSomebodyCountsThem) {
  using Mode = NetworkPolicy::Mode;
  const auto attempt = [](SpecBuilder builder) {
    return make_plan(built(builder.limits({.network_bytes = 1})), model_capabilities());
  };
  EXPECT_TRUE(attempt(usual()));
  EXPECT_TRUE(attempt(usual().network({.mode = Mode::Loopback})));
  EXPECT_TRUE(attempt(usual().network(NetworkPolicy::allow_hosts({"a.org"}).value())));
  const Result<Plan> host = attempt(usual().network({.mode = Mode::Host}));
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().message, HasSubstr("network-bytes-limit is absent: the caller's"));
  EXPECT_THAT(host.error().hint, HasSubstr("--give-up network-bytes-limit"));
  Draft nested;
  nested.allow_nested_namespaces = true;
  EXPECT_FALSE(attempt(usual().network({.mode = Mode::Loopback}).overlay(nested)));
}

TEST(MakePlan, ObservedIsNotEnough) {
  const Capabilities observed =
      without(Clause::NoNetwork, {.strength = Strength::Observed, .mechanism = "sampling"});
  EXPECT_FALSE(make_plan(built(usual()), observed));
  EXPECT_TRUE(make_plan(built(usual().give_up("no-network")), observed));
}

TEST(MakePlan, WhatTheSpecGivesUpByNameIsReportedAndNothingElseIsGivenUp) {
  const Spec spec = built(usual().give_up("no-network"));
  const Plan plan = make_plan(spec, without(Clause::NoNetwork, {.reason = "why"})).value();
  EXPECT_EQ(planned(plan, Clause::NoNetwork),
            (PlannedClause{.clause = Clause::NoNetwork, .reason = "why", .given_up = true}));
  EXPECT_FALSE(plan.hermetic());
  EXPECT_FALSE(make_plan(spec, without(Clause::OwnIpc)));
}

TEST(MakePlan, AnOptionalClauseNeverRefusesAndIsReported) {
  const Plan plan =
      make_plan(built(usual()), without(Clause::SecondLine, {.reason = "old"})).value();
  EXPECT_EQ(planned(plan, Clause::SecondLine).strength, Strength::Absent);
  EXPECT_TRUE(plan.hermetic());
}

TEST(MakePlan, AnOutputThatIsChangedInPlaceIsReportedAsWeaker) {
  const Plan plan =
      make_plan(built(usual().output("/o", Publish::InPlace)), model_capabilities()).value();
  const PlannedClause& clause = planned(plan, Clause::OutputsPrivate);
  EXPECT_EQ(clause.strength, Strength::Absent);
  EXPECT_TRUE(clause.given_up);
  EXPECT_EQ(clause.reason, "changed in place, as declared: /o");
  EXPECT_FALSE(plan.hermetic());
}

TEST(Hermetic, IsAConclusionFromTheClausesAndTheNetwork) {
  const auto hermetic = [](const SpecBuilder& builder) {
    return make_plan(built(builder), model_capabilities()).value().hermetic();
  };
  using Mode = NetworkPolicy::Mode;
  EXPECT_TRUE(hermetic(usual()));
  EXPECT_TRUE(hermetic(usual().network({.mode = Mode::Loopback})));
  EXPECT_FALSE(hermetic(usual().network({.mode = Mode::Host})));
  EXPECT_FALSE(hermetic(usual().network(NetworkPolicy::allow_hosts({"a.org"}).value())));
  EXPECT_TRUE(hermetic(usual().give_up("no-network"))) << "given up, yet enforced";
}

TEST(Hermetic, NeedsEveryClauseEnforced) {
  const Plan good = make_plan(built(usual()), model_capabilities()).value();
  ASSERT_TRUE(good.hermetic());
  for (std::size_t i = 0; i < good.clauses.size(); ++i) {
    Plan plan = good;
    plan.clauses[i].strength = Strength::Observed;
    const Clause clause = plan.clauses[i].clause;
    EXPECT_EQ(plan.hermetic(), clause == Clause::SecondLine || clause == Clause::NetworkWatched);
  }
}

}  // namespace
}  // namespace hermetic
