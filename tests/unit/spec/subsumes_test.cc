#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "hermetic/spec/spec.h"
#include "tests/unit/spec/property.h"
#include "tests/unit/spec/random_spec.h"

namespace hermetic {
namespace {

using std::chrono_literals::operator""s;

SpecBuilder usual_draft() {
  SpecBuilder builder({"true"});
  builder.input("/usr")
      .output("/w/out")
      .caller_environment({{"CC", "gcc"}})
      .lookup(look_up_by_name);
  return builder;
}

// What `b` may and `a` may not; "" if `a` subsumes `b`.
std::string missing(const SpecBuilder& a, const SpecBuilder& b) {
  const Subsumption result = subsumes(a.build().value(), b.build().value());
  EXPECT_EQ(result.holds, result.witness.empty());
  return result.witness;
}

NetworkPolicy hosts(const std::vector<std::string>& rules) {
  return NetworkPolicy::allow_hosts(rules).value();
}

template <class T>
SpecBuilder with(T Draft::*field, T value) {
  Draft draft;
  draft.*field = std::move(value);
  return usual_draft().overlay(draft);
}

TEST(Subsumes, ASpecSubsumesItself) { EXPECT_EQ(missing(usual_draft(), usual_draft()), ""); }

TEST(Subsumes, NamesAPathThatOnlyTheOtherMayUse) {
  EXPECT_EQ(missing(usual_draft(), usual_draft().input("/opt")), "read /opt");
  EXPECT_EQ(missing(usual_draft(), usual_draft().temp("/t")), "read /t");
  EXPECT_EQ(missing(usual_draft().input("/t"), usual_draft().temp("/t")), "write /t");
  EXPECT_EQ(missing(usual_draft().input("/opt"), usual_draft()), "");
}

TEST(Subsumes, NamesWhatOnlyTheOtherMayReach) {
  const NetworkPolicy none;
  const NetworkPolicy loopback{.mode = NetworkPolicy::Mode::Loopback};
  const NetworkPolicy host{.mode = NetworkPolicy::Mode::Host};
  EXPECT_EQ(missing(usual_draft().network(none), usual_draft().network(loopback)),
            "reach localhost");
  EXPECT_EQ(missing(usual_draft().network(loopback), usual_draft().network(none)), "");
  EXPECT_EQ(missing(usual_draft().network(loopback), usual_draft().network(host)),
            "reach any host");
  EXPECT_EQ(missing(usual_draft().network(host), usual_draft().network(loopback)), "");
  EXPECT_EQ(
      missing(usual_draft().network(hosts({"*.org"})), usual_draft().network(hosts({"a.org:443"}))),
      "");
  EXPECT_EQ(
      missing(usual_draft().network(hosts({"a.org:443"})), usual_draft().network(hosts({"a.org"}))),
      "reach a.org");
  EXPECT_EQ(
      missing(usual_draft().network(loopback), usual_draft().network(hosts({"127.0.0.1:80"}))), "");
  EXPECT_NE(missing(usual_draft().network(hosts({"127.0.0.1:1"})), usual_draft().network(loopback)),
            "")
      << "one port of loopback is not all of it";
}

TEST(Subsumes, NamesAVariableThatOnlyTheOtherKnows) {
  EXPECT_EQ(missing(usual_draft(), usual_draft().env("MODE", "fast")), "know MODE");
  EXPECT_EQ(missing(usual_draft().env("MODE", "slow"), usual_draft().env("MODE", "fast")),
            "know MODE as 'fast'");
  EXPECT_EQ(missing(usual_draft(), usual_draft().pass_env("CC")), "know the caller's CC");
  EXPECT_EQ(missing(usual_draft().pass_env("CC"), usual_draft()), "");
}

TEST(Subsumes, NamesAResourceOfWhichTheOtherMayUseMore) {
  const auto memory = [](std::uint64_t bytes) {
    return usual_draft().limits({.memory_bytes = bytes});
  };
  EXPECT_EQ(missing(memory(1U << 20U), memory(2U << 20U)), "use 2M memory");
  EXPECT_EQ(missing(memory(1U << 20U), usual_draft()), "use unlimited memory");
  EXPECT_EQ(missing(memory(2U << 20U), memory(1U << 20U)), "");
  EXPECT_EQ(missing(usual_draft(), memory(1)), "");
  EXPECT_EQ(
      missing(usual_draft().limits({.wall_time = 5s}), usual_draft().limits({.wall_time = 6s})),
      "use 6s wall time");
}

TEST(Subsumes, NamesAnActThatOnlyTheOtherMayDo) {
  EXPECT_EQ(missing(usual_draft().process({.allow_fork = false}), usual_draft()),
            "start processes");
  EXPECT_EQ(missing(usual_draft().process({.allow_exec = false}), usual_draft()),
            "run other programs");
  EXPECT_EQ(missing(usual_draft(), usual_draft().process({.kill_on_parent_exit = false})),
            "outlive its caller");
  EXPECT_EQ(missing(usual_draft(), with(&Draft::allow_nested_namespaces, std::optional(true))),
            "make user namespaces");
  EXPECT_EQ(missing(usual_draft(), usual_draft().unix_socket("/run/server.sock")),
            "talk through the socket /run/server.sock");
  EXPECT_EQ(missing(usual_draft().own_uptime(), usual_draft()), "know the uptime of the host");
  EXPECT_EQ(missing(usual_draft(), with(&Draft::allow_unsandboxed, std::optional(true))),
            "run without a sandbox");
  EXPECT_EQ(missing(usual_draft(), usual_draft().identity(Identity::Root)), "be root inside");
  EXPECT_EQ(missing(usual_draft(), usual_draft().give_up("memory-limit")),
            "run without memory-limit");
}

TEST(SubsumesProperty, HoldsExactlyIfEveryAllowedPathIsAllowed) {
  int held = 0;
  int failed = 0;
  check_property(15'000, [&] {
    const auto draw_spec = [](const std::vector<Declaration>& declarations) {
      SpecBuilder builder = builder_of(declarations);
      Draft draft;
      draft.strict_outputs = *number_below(3) == 2;
      return builder.overlay(draft).build();
    };
    const std::vector<Declaration> declarations = declarations_from(draw_numbers(4));
    // The other has some of the same declarations, and at times one of its own.
    std::vector<Declaration> others;
    const std::uint32_t mask = *number_below(16);
    for (std::size_t i = 0; i < declarations.size(); ++i)
      if ((mask >> i & 1U) == 0) others.push_back(declarations[i]);
    for (const Declaration& extra : declarations_from(draw_numbers(1))) others.push_back(extra);
    const Result<Spec> a = draw_spec(declarations);
    const Result<Spec> b = draw_spec(others);
    RC_PRE(a.has_value() && b.has_value());

    std::vector<Declaration> all = declarations;
    all.insert(all.end(), others.begin(), others.end());
    const std::vector<std::string> paths = paths_to_ask(all);
    bool expected = true;
    for (const std::string& path : paths)
      for (const Operation operation : {Operation::Read, Operation::Write, Operation::Execute})
        expected =
            expected && (!b->decide(path, operation).allowed || a->decide(path, operation).allowed);
    // What both show must be the same on the host.
    const auto object_at = [](const Spec& spec, const std::string& path) {
      const Decision decision = spec.decide(path, Operation::Read);
      const bool shows = decision.because == Decision::Because::Declared &&
                         decision.tree->declaration.kind != TreeKind::Temp;
      return shows ? host_name(*decision.tree, path) : "";
    };
    for (const std::string& path : paths) {
      const std::string one = object_at(*a, path);
      const std::string other = object_at(*b, path);
      expected = expected && (one.empty() || other.empty() || one == other);
    }
    const Subsumption result = subsumes(*a, *b);
    RC_LOG() << result.witness << "\n" << a->canonical() << "\n" << b->canonical() << "\n";
    RC_ASSERT(result.holds == expected);
    ++(result.holds ? held : failed);
    if (result.holds) return;
    if (result.witness.starts_with("use ")) return;
    const std::string path = result.witness.substr(result.witness.rfind(' ') + 1);
    const Operation operation = result.witness.starts_with("write")     ? Operation::Write
                                : result.witness.starts_with("execute") ? Operation::Execute
                                                                        : Operation::Read;
    RC_ASSERT(b->decide(path, operation).allowed);
    // A file that hermetic writes is not the host's.
    if (!result.witness.starts_with("read the host's"))
      RC_ASSERT_FALSE(a->decide(path, operation).allowed);
  });
  EXPECT_GT(held, (held + failed) / 10);
  EXPECT_GT(failed, (held + failed) / 10);
}

}  // namespace
}  // namespace hermetic
