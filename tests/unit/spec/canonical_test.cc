#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/property.h"
#include "tests/unit/spec/random_spec.h"

namespace hermetic {
namespace {

using ::testing::MatchesRegex;
using std::chrono_literals::operator""s;

Draft usual() {
  Draft draft;
  draft.command = {"cc", "main.c"};
  draft.declarations = {{.kind = TreeKind::Input, .path = "/w", .exceptions = {"/w/out", "/w/b"}},
                        {.kind = TreeKind::Output, .path = "/w/out"},
                        {.kind = TreeKind::Temp, .path = "/w/b"}};
  draft.environment.set = {{"MODE", "fast"}};
  draft.environment.pass = {"CC"};
  return draft;
}

Spec spec_of(Draft draft) {
  SpecBuilder builder(std::move(draft));
  return builder.caller_environment({{"CC", "gcc"}}).lookup(look_up_by_name).build().value();
}

TEST(Canonical, DigestIsAWholeSha256) {
  EXPECT_THAT(spec_of(usual()).digest(), MatchesRegex("[0-9a-f]{64}"));
}

TEST(Canonical, IsJsonWithAVersion) {
  const auto document = nlohmann::json::parse(spec_of(usual()).canonical());
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["command"], (std::vector<std::string>{"cc", "main.c"}));
  EXPECT_EQ(document["inputs"][0]["path"], "/w");
}

TEST(Canonical, DoesNotDependOnHowTheSameIsSaid) {
  const Spec spec = spec_of(usual());
  Draft other = usual();
  std::swap(other.declarations[0], other.declarations[2]);
  for (Declaration& declaration : other.declarations) {
    declaration.path = "/" + declaration.path + "//./";
    declaration.origin = {"elsewhere.yaml", 3, 4};
  }
  other.declarations[2].exceptions = {"/w/b/inner", "/w//b/", "/w/out", "/w/out"};
  EXPECT_EQ(spec_of(other).canonical(), spec.canonical());
  EXPECT_EQ(spec_of(other), spec);
}

TEST(Canonical, DoesNotDependOnTheCaller) {
  SpecBuilder builder(usual());
  builder.lookup(look_up_by_name);
  EXPECT_EQ(builder.caller_environment({{"CC", "clang"}}).build()->digest(),
            builder.caller_environment({}).build()->digest());
}

TEST(Canonical, EveryFieldIsPartOfIt) {
  using Change = std::function<void(Draft&)>;
  const std::map<std::string, Change> changes = {
      {"command", [](Draft& d) { d.command.push_back("-O2"); }},
      {"command split", [](Draft& d) { d.command = {"cc main.c"}; }},
      {"directory", [](Draft& d) { d.directory = "/w"; }},
      {"input", [](Draft& d) { d.declarations.push_back({.path = "/usr"}); }},
      {"exception", [](Draft& d) { d.declarations[0].exceptions.push_back("/w/c"); }},
      {"kind", [](Draft& d) { d.declarations[2].kind = TreeKind::Output; }},
      {"publish", [](Draft& d) { d.declarations[1].publish = Publish::Merge; }},
      {"publish in place", [](Draft& d) { d.declarations[1].publish = Publish::InPlace; }},
      {"type", [](Draft& d) { d.declarations[1].type = FileType::File; }},
      {"type of temp", [](Draft& d) { d.declarations[2].type = FileType::File; }},
      {"network", [](Draft& d) { d.network = {.mode = NetworkPolicy::Mode::Loopback}; }},
      {"network host", [](Draft& d) { d.network = {.mode = NetworkPolicy::Mode::Host}; }},
      {"hosts", [](Draft& d) { d.network = NetworkPolicy::allow_hosts({"a.org"}).value(); }},
      {"port", [](Draft& d) { d.network = NetworkPolicy::allow_hosts({"a.org:1"}).value(); }},
      {"value", [](Draft& d) { d.environment.set["MODE"] = "slow"; }},
      {"value in bytes", [](Draft& d) { d.environment.set["MODE"] = "\xff"; }},
      {"name", [](Draft& d) { d.environment.set["OTHER"] = ""; }},
      {"passed", [](Draft& d) { d.environment.pass.insert("CXX"); }},
      {"memory", [](Draft& d) { d.limits.memory_bytes = 1; }},
      {"cpu_time", [](Draft& d) { d.limits.cpu_time = 1s; }},
      {"wall_time", [](Draft& d) { d.limits.wall_time = 1s; }},
      {"processes", [](Draft& d) { d.limits.processes = 1; }},
      {"file_size", [](Draft& d) { d.limits.file_size_bytes = 1; }},
      {"open_files", [](Draft& d) { d.limits.open_files = 1; }},
      {"idle_time", [](Draft& d) { d.limits.idle_time = 1s; }},
      {"cpus", [](Draft& d) { d.process.cpus = 1; }},
      {"nice", [](Draft& d) { d.process.nice = 1; }},
      {"disk_write", [](Draft& d) { d.limits.disk_write_bytes = 1; }},
      {"disk_read_rate", [](Draft& d) { d.limits.disk_read_rate = 1; }},
      {"disk_write_rate", [](Draft& d) { d.limits.disk_write_rate = 1; }},
      {"network_bytes", [](Draft& d) { d.limits.network_bytes = 1; }},
      {"cpu_weight", [](Draft& d) { d.limits.cpu_weight = 1; }},
      {"max_children", [](Draft& d) { d.process.max_children = 1; }},
      {"kill_on_parent_exit", [](Draft& d) { d.process.kill_on_parent_exit = false; }},
      {"allow_fork", [](Draft& d) { d.process.allow_fork = false; }},
      {"allow_exec", [](Draft& d) { d.process.allow_exec = false; }},
      {"identity", [](Draft& d) { d.identity = Identity::Root; }},
      {"hostname", [](Draft& d) { d.hostname = "other"; }},
      {"on_violation", [](Draft& d) { d.on_violation = OnViolation::Kill; }},
      {"strict_outputs", [](Draft& d) { d.strict_outputs = true; }},
      {"nested", [](Draft& d) { d.allow_nested_namespaces = true; }},
      {"own_uptime", [](Draft& d) { d.own_uptime = true; }},
      {"unix_sockets", [](Draft& d) { d.unix_sockets = {"/run/server.sock"}; }},
      {"unsandboxed", [](Draft& d) { d.allow_unsandboxed = true; }},
      {"give_up", [](Draft& d) { d.give_up = {"memory-limit"}; }},
  };
  std::map<std::string, std::string> seen = {{spec_of(usual()).digest(), "nothing changed"}};
  for (const auto& [name, change] : changes) {
    Draft draft = usual();
    change(draft);
    const auto [other, is_new] = seen.emplace(spec_of(draft).digest(), name);
    EXPECT_TRUE(is_new) << name << " gives the same digest as " << other->second;
  }
}

TEST(Canonical, TellsBytesFromTextThatLooksLikeThem) {
  Draft bytes = usual();
  bytes.command = {"echo", "\xff"};
  Draft text = usual();
  text.command = {"echo", "[255]"};
  Draft replacement = usual();
  replacement.command = {"echo", "\xef\xbf\xbd"};  // what JSON would make of the byte
  const std::set<std::string> digests = {spec_of(bytes).digest(), spec_of(text).digest(),
                                         spec_of(replacement).digest()};
  EXPECT_EQ(digests.size(), 3U);
}

TEST(CanonicalProperty, IsTheSameInAnyOrderOfDeclarations) {
  check_property(3'000, [] {
    std::vector<Declaration> declarations = declarations_from(draw_numbers(5));
    const Result<Spec> spec = builder_of(declarations).build();
    const std::size_t turn = *number_below(5);
    if (!declarations.empty())
      std::rotate(declarations.begin(),
                  declarations.begin() + static_cast<std::ptrdiff_t>(turn % declarations.size()),
                  declarations.end());
    for (Declaration& declaration : declarations)
      std::reverse(declaration.exceptions.begin(), declaration.exceptions.end());
    const Result<Spec> turned = builder_of(declarations).build();
    RC_ASSERT(spec.has_value() == turned.has_value());
    if (spec) RC_ASSERT(spec->canonical() == turned->canonical());
  });
}

}  // namespace
}  // namespace hermetic
