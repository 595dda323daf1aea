#include "hermetic/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/spec/property.h"
#include "tests/unit/spec/random_spec.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using Because = Decision::Because;

constexpr std::array kOperations = {Operation::Read, Operation::Write, Operation::Execute};

SpecBuilder by_name(std::vector<std::string> command = {"true"}) {
  SpecBuilder builder(std::move(command));
  builder.caller_environment({{"HOME", "/home/me"}, {"CC", "gcc"}}).lookup(look_up_by_name);
  return builder;
}

Spec built(const SpecBuilder& builder) {
  Result<Spec> spec = builder.build();
  if (!spec) throw std::runtime_error(to_string(spec.error()));
  return std::move(spec).value();
}

Draft strict_draft() {
  Draft draft;
  draft.strict_outputs = true;
  return draft;
}

Spec usual_spec() {
  return built(by_name()
                   .input("/usr")
                   .input("/w", {"/w/out", "/w/.git"})
                   .output("/w/out")
                   .temp("/w/.git/tmp"));
}

// "write /w: Undeclared"
std::string decided(const Spec& spec, std::string_view path, Operation operation) {
  constexpr std::array kWords = {"declared", "built in", "on the way", "excepted", "undeclared"};
  const Decision decision = spec.decide(path, operation);
  return std::string(decision.allowed ? "allow, " : "deny, ") +
         kWords[static_cast<std::size_t>(decision.because)];
}

TEST(Decide, GivesTheTreesWhatTheirKindsAllow) {
  const Spec spec = usual_spec();
  EXPECT_EQ(decided(spec, "/usr/bin/cc", Operation::Execute), "allow, declared");
  EXPECT_EQ(decided(spec, "/usr/bin/cc", Operation::Write), "deny, declared");
  EXPECT_EQ(decided(spec, "/w/main.c", Operation::Read), "allow, declared");
  EXPECT_EQ(decided(spec, "/w/out/main.o", Operation::Write), "allow, declared");
  EXPECT_EQ(decided(spec, "/w/out/main.o", Operation::Read), "allow, declared");
  EXPECT_EQ(decided(spec, "/w/.git/tmp/x", Operation::Write), "allow, declared");
  EXPECT_EQ(decided(spec, "/w/.git/config", Operation::Read), "deny, excepted");
  EXPECT_EQ(decided(spec, "/w/.git", Operation::Read), "allow, on the way");
  EXPECT_EQ(decided(spec, "/w/.git", Operation::Write), "deny, on the way");
  EXPECT_EQ(decided(spec, "/home/me", Operation::Read), "deny, undeclared");
}

TEST(Decide, NamesTheDeepestTree) {
  const Spec spec = built(by_name().input("/w").input("/w/a").input("/w/a/b", {"/w/a/b/c"}));
  EXPECT_EQ(spec.decide("/w/x", Operation::Read).tree->declaration.path, "/w");
  EXPECT_EQ(spec.decide("/w/a/x", Operation::Read).tree->declaration.path, "/w/a");
  EXPECT_EQ(spec.decide("/w/a/b/x", Operation::Read).tree->declaration.path, "/w/a/b");
  EXPECT_EQ(spec.decide("/w/a/b/c", Operation::Read).tree->declaration.path, "/w/a")
      << "what one input leaves out another still shows";
}

TEST(Decide, OutputsCannotBeReadBackIfTheSpecIsStrict) {
  const Spec lenient = built(by_name().output("/o").temp("/t"));
  const Spec strict = built(by_name().output("/o").temp("/t").overlay(strict_draft()));
  EXPECT_TRUE(lenient.can_read("/o/x"));
  EXPECT_FALSE(strict.can_read("/o/x"));
  EXPECT_TRUE(strict.can_write("/o/x"));
  EXPECT_TRUE(strict.can_read("/t/x")) << "a temp is no output";
}

TEST(Decide, TmpIsPrivateButForWhatIsDeclaredThere) {
  const Spec spec = built(by_name().input("/tmp/in").output("/tmp/out"));
  EXPECT_TRUE(spec.can_write("/tmp/x"));
  EXPECT_FALSE(spec.can_write("/tmp/in/x"));
  EXPECT_TRUE(spec.can_read("/tmp/in/x"));
  EXPECT_EQ(spec.decide("/tmp/out/x", Operation::Write).tree->declaration.kind, TreeKind::Output);
  EXPECT_TRUE(spec.decide("/tmp/x", Operation::Write).tree->built_in);
  EXPECT_FALSE(built(by_name().input("/tmp")).can_write("/tmp/x"))
      << "a spec that declares /tmp gets what it declared";
}

TEST(Decide, TheWholeHostAsInputDoesNotShowWhatIsBuiltIn) {
  const Spec spec = built(by_name().input("/"));
  EXPECT_EQ(decided(spec, "/etc/shadow", Operation::Read), "allow, declared");
  EXPECT_EQ(decided(spec, "/etc/passwd", Operation::Read), "allow, declared");
  EXPECT_EQ(decided(spec, "/sys/class", Operation::Read), "deny, excepted");
  EXPECT_EQ(decided(spec, "/dev/sda", Operation::Read), "deny, built in");
  EXPECT_EQ(decided(spec, "/dev/null", Operation::Write), "allow, built in");
  EXPECT_EQ(decided(spec, "/proc/self/status", Operation::Read), "allow, built in");
  EXPECT_EQ(decided(spec, "/tmp/x", Operation::Write), "allow, declared");
  EXPECT_EQ(spec.decide("/tmp/x", Operation::Write).tree->declaration.kind, TreeKind::Temp);
}

TEST(Decide, WhatIsOpenAndTerminalsCanBeOpenedAgain) {
  const Spec spec = built(by_name());
  for (const char* file :
       {"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/3", "/dev/ptmx", "/dev/pts/0"}) {
    EXPECT_TRUE(spec.can_read(file)) << file;
    EXPECT_TRUE(spec.can_write(file)) << file;
    EXPECT_EQ(decided(spec, file, Operation::Execute), "deny, built in") << file;
  }
  for (const char* directory : {"/dev", "/dev/fd", "/dev/pts"}) {
    EXPECT_TRUE(spec.can_read(directory)) << directory;
    EXPECT_EQ(decided(spec, directory, Operation::Write), "deny, built in") << directory;
  }
}

TEST(Decide, ADirectoryOnTheWayCanBeListedAndNothingMore) {
  const Spec spec = built(by_name().input("/opt/tool/bin"));
  EXPECT_EQ(decided(spec, "/opt", Operation::Read), "allow, on the way");
  EXPECT_EQ(decided(spec, "/opt/tool", Operation::Read), "allow, on the way");
  EXPECT_EQ(decided(spec, "/opt/tool", Operation::Write), "deny, on the way");
  EXPECT_EQ(decided(spec, "/opt/other", Operation::Read), "deny, undeclared");
  EXPECT_EQ(decided(spec, "/", Operation::Read), "allow, on the way");
}

TEST(Decide, ADirectoryOnTheWayCannotBeListedIfOutputsAreStrict) {
  const Spec spec = built(by_name()
                              .input("/opt/tool/bin")
                              .input("/w", {"/w/a"})
                              .temp("/w/a/b")
                              .output("/o/p")
                              .overlay(strict_draft()));
  EXPECT_EQ(decided(spec, "/", Operation::Read), "deny, on the way");
  EXPECT_EQ(decided(spec, "/etc", Operation::Read), "deny, on the way");
  EXPECT_EQ(decided(spec, "/opt", Operation::Read), "deny, on the way");
  EXPECT_EQ(decided(spec, "/o", Operation::Read), "deny, on the way");
  EXPECT_EQ(decided(spec, "/opt", Operation::Execute), "allow, on the way");
  EXPECT_EQ(decided(spec, "/w/a", Operation::Read), "allow, on the way") << "it is in an input";
}

TEST(Decide, FollowsTheLinksThatLedToDeclaredPaths) {
  const Lookup lookup = [](std::string_view path) -> Result<Found> {
    Found found = look_up_by_name(path).value();
    if (is_within(path, "/bin")) {
      found.links = {{"/bin", "usr/bin"}};
      found.real_path = join("/usr/bin", relative_to(path, "/bin"));
      found.existing_path = found.real_path;
    }
    return found;
  };
  const Spec spec = built(by_name().input("/bin").lookup(lookup));
  const Decision decision = spec.decide("/bin/sh", Operation::Execute);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.path, "/usr/bin/sh");
  EXPECT_EQ(decided(spec, "/usr/lib", Operation::Read), "deny, undeclared");
}

TEST(Spec, KnowsItsHostsAndVariables) {
  const Spec spec = built(by_name()
                              .network(NetworkPolicy::allow_hosts({"example.org:443"}).value())
                              .env("MODE", "fast")
                              .pass_env("CC")
                              .pass_env("NOBODY_HAS_IT"));
  EXPECT_TRUE(spec.can_reach("example.org", 443));
  EXPECT_FALSE(spec.can_reach("example.org", 80));
  EXPECT_TRUE(spec.has_env("MODE"));
  EXPECT_TRUE(spec.has_env("CC"));
  EXPECT_TRUE(spec.has_env("PATH"));
  EXPECT_FALSE(spec.has_env("NOBODY_HAS_IT"));
  EXPECT_FALSE(spec.has_env("SSH_AUTH_SOCK"));
}

TEST(Spec, CopiesShareWhatWasWorkedOut) {
  const Spec spec = usual_spec();
  const Spec copy = spec;
  EXPECT_EQ(copy, spec);
  EXPECT_EQ(&copy.trees(), &spec.trees());
}

TEST(SpecProperty, BuildAcceptsExactlyTheDisjointSpecsAndDecidesAsDefined) {
  int accepted = 0;
  int refused = 0;
  check_property(20'000, [&] {
    const std::vector<Declaration> declarations = declarations_from(draw_numbers(5));
    const bool strict = *number_below(2) == 1;
    const SpecModel model(declarations, strict);
    SpecBuilder builder = builder_of(declarations);
    if (strict) builder.overlay(strict_draft());
    const Result<Spec> spec = builder.build();
    RC_ASSERT(spec.has_value() == model.is_disjoint());
    ++(spec ? accepted : refused);
    if (!spec) return;
    const PathSet inputs = spec->inputs();
    const PathSet outputs = spec->outputs();
    const PathSet temps = spec->temps();
    for (const std::string& path : paths_to_ask(declarations)) {
      for (const Operation operation : kOperations) {
        const Decision decision = spec->decide(path, operation);
        const SpecModel::Answer answer = model.decide(path, operation);
        if (decision.allowed != answer.allowed || decision.because != answer.because)
          RC_FAIL(path + ": " + decided(*spec, path, operation));
        if (!answer.root.empty()) RC_ASSERT(decision.tree->place == answer.root);
      }
      const std::optional<TreeKind> kind = model.decide(path, Operation::Read).kind;
      RC_ASSERT(inputs.contains(path) == (kind == TreeKind::Input));
      RC_ASSERT(spec->is_input(path) == (kind == TreeKind::Input));
      RC_ASSERT(outputs.contains(path) == (kind == TreeKind::Output));
      RC_ASSERT(temps.contains(path) == (kind == TreeKind::Temp));
    }
  });
  EXPECT_GT(accepted, (accepted + refused) / 10) << "most specs collide: this proves little";
  EXPECT_GT(refused, (accepted + refused) / 10) << "most specs are accepted: this proves little";
}

TEST(SpecProperty, ARefusalNamesBothDeclarationsAndAPathThatBothHold) {
  check_property(10'000, [] {
    const std::vector<Declaration> declarations = declarations_from(draw_numbers(5));
    const Result<Spec> spec = builder_of(declarations).build();
    if (spec) return;
    const std::string& message = spec.error().message;
    RC_ASSERT(spec.error().kind == Error::Kind::InvalidSpec);
    std::vector<const Declaration*> named;
    for (const Declaration& declaration : declarations)
      if (message.find("(" + to_string(declaration.origin) + ")") != std::string::npos)
        named.push_back(&declaration);
    RC_ASSERT(named.size() == 2U);
    if (message.find("declare the same tree") != std::string::npos) {
      RC_ASSERT(declared_place(*named[0]) == declared_place(*named[1]));
      return;
    }
    const bool on_host = message.find("overlap on the host") != std::string::npos;
    const auto holds = on_host ? SpecModel::holds_on_host : SpecModel::holds;
    const std::size_t begin = message.find("both hold '") + std::string("both hold '").size();
    const std::string witness = message.substr(begin, message.find('\'', begin) - begin);
    RC_ASSERT(holds(*named[0], witness));
    RC_ASSERT(holds(*named[1], witness));
    const bool placed = !named[0]->at.empty() || !named[1]->at.empty();
    RC_ASSERT(placed == (on_host || message.find("overlap inside") != std::string::npos));
    RC_ASSERT(!spec.error().hint.empty());
  });
}

}  // namespace
}  // namespace hermetic
